"""Doing the effects of a judgement across a broker, a coordinator and a payload store.

Publishes are pipelined: they are all confirmed before the message is acknowledged, and before
anything that a repetition would need is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from weft.kernel.effects import (
    Asks,
    CancelTimer,
    Complete,
    DiscardMerge,
    DiscardSplit,
    Effect,
    Forget,
    Items,
    Judgement,
    Load,
    Log,
    Publish,
    Report,
    SetTimer,
    Store,
)
from weft.kernel.lineage import describe
from weft.kernel.messages import Token, encode_message
from weft.runtime.outbox import Outbox
from weft.runtime.queues import COMPLETION, queue_of
from weft.runtime.reading import Reader
from weft.runtime.reporting import status_of
from weft.runtime.services import Services


class Performer:
    """Performs judgements, each in its own order."""

    def __init__(self, services: Services, outbox: Outbox, reader: Reader) -> None:
        self._at = services
        self._outbox = outbox
        self._reader = reader

    async def perform(
        self, execution_id: str, judgement: Judgement[None], duration_ms: int
    ) -> None:
        """Do every effect in order, feeding each answer back; return when all is confirmed."""
        sending: list[Awaitable[Any]] = []
        answer: Any = None
        while True:
            try:
                effect = judgement.send(answer)
            except StopIteration:
                break
            if isinstance(effect, DiscardSplit | DiscardMerge | Complete | Forget):
                await _all(sending)
            answer = await self._do(execution_id, effect, duration_ms, sending)
        await _all(sending)

    async def _do(
        self,
        execution_id: str,
        effect: Effect,
        duration_ms: int,
        sending: list[Awaitable[Any]],
    ) -> Any:
        at = self._at
        match effect:
            case Publish(token):
                sending.append(asyncio.ensure_future(self._publish(token)))
            case Report():
                status = status_of(effect, at.clock.now_ms(), duration_ms)
                sending.append(self._outbox.report(status))
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
                return await at.coordinator.answer(execution_id, effect)
            case Store(payload):
                # Waited for: whoever gets a token that refers to it must find it.
                await at.payloads.put(execution_id, payload)
            case SetTimer(token, due_ms):
                named = msgspec.structs.replace(token, publish_id=at.chance.publish_id())
                await at.timers.set(execution_id, token.token_id, due_ms, encode_message(named))
            case CancelTimer(token_id):
                await at.timers.cancel(execution_id, token_id)
            case Log(token, level, message):
                text = (
                    message if isinstance(message, str) else msgspec.json.encode(message).decode()
                )
                item = describe(token.lineage_stack)
                at.log.write(level, text, run=execution_id, node=token.current_node, item=item)
            case Complete(completion):
                await at.bus.publish(COMPLETION, encode_message(completion))
                await at.timers.cancel_all(execution_id)
            case _:
                assert_never(effect)
        return None

    async def _publish(self, token: Token) -> None:
        sent = msgspec.structs.replace(token, publish_id=self._at.chance.publish_id())
        await self._at.bus.publish(queue_of(sent), encode_message(sent), priority=sent.priority)


async def _all(sending: list[Awaitable[Any]]) -> None:
    """Wait for every confirm; the first that did not come is raised."""
    outstanding, sending[:] = list(sending), []
    await asyncio.gather(*outstanding)
