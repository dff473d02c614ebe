"""Performing the effects of a judgement across a broker, a coordinator and a payload store.

Publishes are pipelined (`EffectSender`): they are all confirmed before the message is acknowledged,
and before anything that a repetition would need is dropped (`EffectPerformer`).
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
from onward.runtime.cluster.services import WorkerServices
from onward.runtime.cluster.status_outbox import StatusBatch, StatusOutbox
from onward.runtime.queues import COMPLETION, level_of, queue_of
from onward.runtime.token.context_reader import ContextReader, read_fetching
from onward.runtime.token.pipeline import READING, next_effect
from onward.runtime.token.statuses import fields_of, status_of, text_of

_LAST = (DiscardSplit, DiscardMerge, Complete, Forget)
"""What a repetition would miss: performed when everything before it is confirmed."""


_AIDS = (Report, StorePayload, WriteLog, Load, Items)
"""What may be performed before a report is confirmed. Nothing else: once the next token is sent or
a scope is left, a repetition takes the visit for settled and would not report its outcome. That a
report is on the wire before the token is not enough: a broker that dies may have stored one of two
messages, in whichever order they came."""


class EffectSender:
    """Publishes and statuses of one judgement, until the broker has confirmed all of them."""

    __slots__ = ("_next", "_statuses", "_tasks")

    def __init__(self) -> None:
        self._next: Coroutine[Any, Any, None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._statuses: list[StatusBatch] = []

    def publish(self, publish: Coroutine[Any, Any, None]) -> None:
        """Send a message, at the latest when `start_next` is called."""
        self.start_next()
        self._next = publish

    def await_status(self, batch: StatusBatch) -> None:
        """Wait for the batch of a status too; others may wait for the same."""
        if not self._statuses or self._statuses[-1] is not batch:
            self._statuses.append(batch)

    async def statuses_confirmed(self) -> None:
        """Return when the broker has every status."""
        statuses, self._statuses = self._statuses, []
        for batch in statuses:
            if batch.done.done():
                batch.done.result()
            else:
                await asyncio.shield(batch.done)

    def start_next(self) -> None:
        """Start the latest publish: something else is performed before it is confirmed."""
        if self._next is not None:
            self._tasks.append(asyncio.create_task(self._next))
            self._next = None

    async def all_confirmed(self) -> None:
        """Return when everything is confirmed; the first confirm that fails is raised."""
        last, self._next = self._next, None
        tasks, self._tasks = self._tasks, []
        if tasks:
            if last is not None:
                tasks.append(asyncio.create_task(last))
            await asyncio.gather(*tasks)
        elif last is not None:
            await last  # one message, as most judgements send: it needs no task of its own
        await self.statuses_confirmed()

    def close(self) -> None:
        """Drop a publish that was never started, because something failed before it."""
        if self._next is not None:
            self._next.close()
            self._next = None


class EffectPerformer:
    """Performs judgements, each in its own order."""

    def __init__(
        self, services: WorkerServices, outbox: StatusOutbox, reader: ContextReader
    ) -> None:
        self._services = services
        self._outbox = outbox
        self._reader = reader

    async def perform(
        self,
        by: Token,
        judgement: Judgement[None],
        duration_ms: int,
        time_slice: TimeSlice | None = None,
    ) -> None:
        """Perform every effect of handling `by` in order, feeding each answer back.

        Returns when all is confirmed. What is sent belongs to the same state of the run as `by`.
        Within a time slice it may raise TimeSliceExceeded, before anything but reading is done.
        """
        sender = EffectSender()
        answer: Any = None
        try:
            while True:
                try:
                    effect = next_effect(judgement, answer, time_slice)
                except StopIteration:
                    break
                time_slice = time_slice if isinstance(effect, READING) else None
                if isinstance(effect, _LAST):
                    await sender.all_confirmed()
                elif not isinstance(effect, _AIDS):
                    await sender.statuses_confirmed()
                sender.start_next()
                answer = await self._do(by, effect, duration_ms, sender)
            await sender.all_confirmed()
        finally:
            sender.close()

    async def _do(self, by: Token, effect: Effect, duration_ms: int, sender: EffectSender) -> Any:
        services, execution_id = self._services, by.execution_id
        match effect:
            case Publish(token):
                sender.publish(self._publish(self._named(token, by)))
            case Report():
                lines = self._lines_of(effect)
                status = status_of(effect, services.clock.now_ms(), duration_ms, lines)
                sender.await_status(self._outbox.report(status))
            case Load():
                return Raw(await services.payloads.get(execution_id, effect.ref))
            case Items():
                return await read_fetching(
                    services.payloads.get,
                    execution_id,
                    lambda: self._reader.items(
                        execution_id, effect.ref, effect.start, effect.count
                    ),
                )
            case Asks():
                return await services.coordinator.answer(by.state_id, effect)
            case StorePayload(payload):
                # Awaited: the consumer of a token that refers to it must find it.
                await services.payloads.put(execution_id, payload)
            case SetTimer(token, due_ms):
                body = encode_message(self._named(token, by))
                await services.timers.set(by.state_id, token.token_id, due_ms, body)
            case Hasten(token_id):
                await services.timers.hasten(by.state_id, token_id, services.clock.now_ms())
            case CancelTimer(token_id):
                await services.timers.cancel(by.state_id, token_id)
            case WriteLog(token, level, message):
                self._write(token, level, text_of(message))
            case Complete(completion):
                await services.bus.publish(COMPLETION, encode_message(completion))
                await services.timers.cancel_all(by.state_id)
            case _:
                assert_never(effect)
        return None

    def _write(self, token: Token, level: str, text: str) -> None:
        """Write a log line of a node, and buffer it for the history of its run."""
        self._services.log.write(level, text, **fields_of(token))
        if self._services.node_logs is not None:
            self._services.node_logs.add(token, level, text, {})

    def _lines_of(self, report: Report) -> tuple[LogLineRecord, ...]:
        node_logs = self._services.node_logs
        return node_logs.take(report.token, report.node) if node_logs is not None else ()

    def _named(self, token: Token, by: Token) -> Token:
        publish_id = self._services.chance.publish_id()
        return msgspec.structs.replace(token, publish_id=publish_id, generation=by.generation)

    async def _publish(self, token: Token) -> None:
        await self._services.bus.publish(
            queue_of(token), encode_message(token), priority=level_of(token)
        )
