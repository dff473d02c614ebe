"""Doing the effects of a judgement across a broker, a coordinator and a payload store.

Publishes are pipelined: they are all confirmed before the message is acknowledged, and before
anything that a repetition would need is dropped.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from msgspec import Raw

from onward.expressions.pace import Pace
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
    Log,
    Publish,
    Report,
    SetTimer,
    Store,
)
from onward.kernel.lines import Line
from onward.kernel.messages import Token, encode_message
from onward.runtime.handling import READING, following
from onward.runtime.log_fields import fields_of
from onward.runtime.outbox import Outbox
from onward.runtime.queues import COMPLETION, level_of, queue_of
from onward.runtime.reading import Reader
from onward.runtime.reporting import status_of, text_of
from onward.runtime.sending import Sending
from onward.runtime.services import Services

_LAST = (DiscardSplit, DiscardMerge, Complete, Forget)
"""What a repetition would miss: done when everything before it is confirmed."""


_AIDS = (Report, Store, Log, Load, Items)
"""What may be done before a report is confirmed. Nothing else: once the next token is sent or a
scope is left, a repetition takes the visit for settled and would not tell what it came to. That a
report is on the wire before the token is not enough: a broker that dies may have kept one of two
messages, in whichever order they came."""


class Performer:
    """Performs judgements, each in its own order."""

    def __init__(self, services: Services, outbox: Outbox, reader: Reader) -> None:
        self._at = services
        self._outbox = outbox
        self._reader = reader

    async def perform(
        self,
        by: Token,
        judgement: Judgement[None],
        duration_ms: int,
        pace: Pace | None = None,
    ) -> None:
        """Do every effect of handling `by` in order, feeding each answer back.

        Returns when all is confirmed. What is sent belongs to the same state of the run as `by`.
        At a `pace`, Lengthy may come out of it before anything but reading is done.
        """
        sending = Sending()
        answer: Any = None
        try:
            while True:
                try:
                    effect = following(judgement, answer, pace)
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
        sending: Sending,
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
                return await at.coordinator.answer(by.run, effect)
            case Store(payload):
                # Waited for: whoever gets a token that refers to it must find it.
                await at.payloads.put(execution_id, payload)
            case SetTimer(token, due_ms):
                body = encode_message(self._named(token, by))
                await at.timers.set(by.run, token.token_id, due_ms, body)
            case Hasten(token_id):
                await at.timers.hasten(by.run, token_id, at.clock.now_ms())
            case CancelTimer(token_id):
                await at.timers.cancel(by.run, token_id)
            case Log(token, level, message):
                self._write(token, level, text_of(message))
            case Complete(completion):
                await at.bus.publish(COMPLETION, encode_message(completion))
                await at.timers.cancel_all(by.run)
            case _:
                assert_never(effect)
        return None

    def _write(self, token: Token, level: str, text: str) -> None:
        """Write a line of a node, and keep it for the history of its run."""
        self._at.log.write(level, text, **fields_of(token))
        if self._at.activities.lines is not None:
            self._at.activities.lines.keep(token, level, text, {})

    def _lines_of(self, report: Report) -> tuple[Line, ...]:
        lines = self._at.activities.lines
        return lines.take(report.token, report.node) if lines is not None else ()

    def _named(self, token: Token, by: Token) -> Token:
        publish_id = self._at.chance.publish_id()
        return msgspec.structs.replace(token, publish_id=publish_id, generation=by.generation)

    async def _publish(self, token: Token) -> None:
        level = level_of(token)
        await self._at.bus.publish(queue_of(token), encode_message(token), priority=level)
