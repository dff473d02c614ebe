"""Doing the effects of a judgement across a broker, a coordinator and a payload store.

Publishes are pipelined: they are all confirmed before the message is acknowledged, and before
anything that a repetition would need is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from onward.expressions.time_slice import TimeSlice
from onward.kernel.effects import (
    Asks,
    CancelTimer,
    Complete,
    DiscardMerge,
    DiscardSplit,
    Effect,
    Forget,
    Hasten,
    Items,
    Judgement,
    Load,
    Publish,
    Report,
    SetTimer,
    StorePayload,
    WriteLog,
)
from onward.kernel.log_lines import LogLineRecord
from onward.kernel.messages import Token, encode_message
from onward.runtime.cluster.services import Services
from onward.runtime.cluster.status_outbox import StatusBatch, StatusOutbox
from onward.runtime.queues import COMPLETION, level_of, queue_of
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import READING, next_effect
from onward.runtime.token.statuses import fields_of, status_of, text_of

# -- What a judgement has sent and the broker has not confirmed yet.


class EffectSender:
    """Publishes and statuses on their way, until all of them are confirmed."""

    __slots__ = ("_next", "_tasks", "_told")

    def __init__(self) -> None:
        self._next: Coroutine[Any, Any, None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._told: list[StatusBatch] = []

    def publish(self, publishing: Coroutine[Any, Any, None]) -> None:
        """Send a message, at the latest when `go_on` is called."""
        self.go_on()
        self._next = publishing

    def tell(self, told: StatusBatch) -> None:
        """Wait for a status too; others may wait for the same."""
        if not self._told or self._told[-1] is not told:
            self._told.append(told)

    async def heard(self) -> None:
        """Return when the broker has every status."""
        told, self._told = self._told, []
        for batch in told:
            if batch.done.done():
                batch.done.result()
            else:
                await asyncio.shield(batch.done)

    def go_on(self) -> None:
        """Let what was sent last go its way: something else is done before it is confirmed."""
        if self._next is not None:
            self._tasks.append(asyncio.create_task(self._next))
            self._next = None

    async def confirmed(self) -> None:
        """Return when everything is confirmed; the first confirm that did not come is raised."""
        last, self._next = self._next, None
        tasks, self._tasks = self._tasks, []
        if tasks:
            if last is not None:
                tasks.append(asyncio.create_task(last))
            await asyncio.gather(*tasks)
        elif last is not None:
            await last  # one message, as most judgements send: it needs no task of its own
        await self.heard()

    def close(self) -> None:
        """Forget a message that was never begun, because something went wrong before it."""
        if self._next is not None:
            self._next.close()
            self._next = None


_LAST = (DiscardSplit, DiscardMerge, Complete, Forget)
"""What a repetition would miss: done when everything before it is confirmed."""


_AIDS = (Report, StorePayload, WriteLog, Load, Items)
"""What may be done before a report is confirmed. Nothing else: once the next token is sent or a
scope is left, a repetition takes the visit for settled and would not tell what it came to. That a
report is on the wire before the token is not enough: a broker that dies may have kept one of two
messages, in whichever order they came."""


class EffectPerformer:
    """Performs judgements, each in its own order."""

    def __init__(self, services: Services, outbox: StatusOutbox, reader: ContextReader) -> None:
        self._at = services
        self._outbox = outbox
        self._reader = reader

    async def perform(
        self,
        by: Token,
        judgement: Judgement[None],
        duration_ms: int,
        pace: TimeSlice | None = None,
    ) -> None:
        """Do every effect of handling `by` in order, feeding each answer back.

        Returns when all is confirmed. What is sent belongs to the same state of the run as `by`.
        At a `pace`, Lengthy may come out of it before anything but reading is done.
        """
        sending = EffectSender()
        answer: Any = None
        try:
            while True:
                try:
                    effect = next_effect(judgement, answer, pace)
                except StopIteration:
                    break
                pace = pace if isinstance(effect, READING) else None
                if isinstance(effect, _LAST):
                    await sending.confirmed()
                elif not isinstance(effect, _AIDS):
                    await sending.heard()
                sending.go_on()
                answer = await self._do(by, effect, duration_ms, sending)
            await sending.confirmed()
        finally:
            sending.close()

    async def _do(
        self,
        by: Token,
        effect: Effect,
        duration_ms: int,
        sending: EffectSender,
    ) -> Any:
        at, execution_id = self._at, by.execution_id
        match effect:
            case Publish(token):
                sending.publish(self._publish(self._named(token, by)))
            case Report():
                log = self._lines_of(effect)
                status = status_of(effect, at.clock.now_ms(), duration_ms, log)
                sending.tell(self._outbox.report(status))
            case Load():
                return Raw(await at.payloads.get(execution_id, effect.ref))
            case Items():
                return await at.payloads.read(
                    execution_id,
                    lambda: self._reader.items(
                        execution_id, effect.ref, effect.start, effect.count
                    ),
                )
            case Asks():
                return await at.coordinator.answer(by.state_id, effect)
            case StorePayload(payload):
                # Waited for: whoever gets a token that refers to it must find it.
                await at.payloads.put(execution_id, payload)
            case SetTimer(token, due_ms):
                body = encode_message(self._named(token, by))
                await at.timers.set(by.state_id, token.token_id, due_ms, body)
            case Hasten(token_id):
                await at.timers.hasten(by.state_id, token_id, at.clock.now_ms())
            case CancelTimer(token_id):
                await at.timers.cancel(by.state_id, token_id)
            case WriteLog(token, level, message):
                self._write(token, level, text_of(message))
            case Complete(completion):
                await at.bus.publish(COMPLETION, encode_message(completion))
                await at.timers.cancel_all(by.state_id)
            case _:
                assert_never(effect)
        return None

    def _write(self, token: Token, level: str, text: str) -> None:
        """Write a line of a node, and keep it for the history of its run."""
        self._at.log.write(level, text, **fields_of(token))
        if self._at.activities.node_logs is not None:
            self._at.activities.node_logs.add(token, level, text, {})

    def _lines_of(self, report: Report) -> tuple[LogLineRecord, ...]:
        lines = self._at.activities.node_logs
        return lines.take(report.token, report.node) if lines is not None else ()

    def _named(self, token: Token, by: Token) -> Token:
        publish_id = self._at.chance.publish_id()
        return msgspec.structs.replace(token, publish_id=publish_id, generation=by.generation)

    async def _publish(self, token: Token) -> None:
        level = level_of(token)
        await self._at.bus.publish(queue_of(token), encode_message(token), priority=level)
