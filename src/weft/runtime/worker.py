"""A worker: consume, claim, step, run, settle, perform, acknowledge.

A message is acknowledged only after everything that follows from it is confirmed. What goes wrong
outside a node (the broker, the coordinator, a payload) is tried again after 5, 25 and 125 seconds
and then quarantined; a message that can never be handled is quarantined at once, and its run ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec

from weft.errors import MessageError
from weft.kernel.messages import Token, decode_token, encode_message
from weft.kernel.outcome import Outcome
from weft.kernel.program import Activity, Program
from weft.ports.bus import Delivery
from weft.runtime.handling import Nothing, consider, sound
from weft.runtime.outbox import Outbox
from weft.runtime.performing import Performer
from weft.runtime.quarantine import Quarantine
from weft.runtime.queues import EXECUTION, RETRIES, TIMEOUT
from weft.runtime.reading import Reader
from weft.runtime.reporting import running
from weft.runtime.services import Services


class Worker:
    """Handles messages, as many at once as it has slots."""

    def __init__(self, services: Services, *, slots: int = 64) -> None:
        self._at = services
        self._slots = slots
        self._reader = Reader(services.payloads.load)
        self._outbox = Outbox(services.bus)
        self._performer = Performer(services, self._outbox, self._reader)
        self._quarantine = Quarantine(services)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Consume until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._consume(EXECUTION))
            group.create_task(self._consume(TIMEOUT))

    async def drain(self, grace_s: float) -> int:
        """Wait for what is being handled; give back what does not finish in time, and say how many.

        Call it after `run` was cancelled. Nothing is halted: what is given back is delivered again.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return len(left)

    async def _consume(self, queue: str) -> None:
        async for delivery in self._at.bus.consume(queue, prefetch=self._slots):
            task = asyncio.create_task(self._handle(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, delivery: Delivery) -> None:
        token: Token | None = None
        try:
            token = decode_token(delivery.body)
            program, token = await self._at.programs.of(token)
            if not program.knows(token):
                raise MessageError(f"the workflow has no node {token.current_node!r}")
            await self._visit(program, self._stamped(token))
        except asyncio.CancelledError:
            await delivery.give_back()
            raise
        except MessageError as problem:
            await self._quarantine.put(delivery.body, token, str(problem))
            await delivery.ack()
        except Exception as problem:
            await self._trouble(delivery, token, problem)
        else:
            await delivery.ack()

    def _stamped(self, token: Token) -> Token:
        """Give a message of a producer that knows only the RFC the times it would have."""
        if token.sent_at and token.started_at:
            return token
        now_ms = self._at.clock.now_ms()
        return msgspec.structs.replace(
            token, sent_at=token.sent_at or now_ms, started_at=token.started_at or now_ms
        )

    async def _visit(self, program: Program, token: Token) -> None:
        at, now_ms = self._at, self._at.clock.now_ms()
        verdict = await at.coordinator.claim(token)
        doing = await at.payloads.read(
            token.execution_id, lambda: consider(program, token, verdict, self._reader, now_ms)
        )
        if isinstance(doing, Nothing):
            return
        if isinstance(doing, Iterator):
            await self._performer.perform(token.execution_id, doing, 0)
            return
        if not token.signal:
            # Not waited for: the status of what comes of it is, and they travel in order.
            self._outbox.report(running(token, now_ms))
        duration_ms = 0
        if isinstance(doing, Activity):
            outcome: Outcome = await at.activities.run(token, doing)
            duration_ms = at.clock.now_ms() - now_ms
        else:
            outcome = doing
        judgement = program.settle(
            token, sound(outcome), now_ms=at.clock.now_ms(), dice=at.chance.dice()
        )
        await self._performer.perform(token.execution_id, judgement, duration_ms)

    async def _trouble(self, delivery: Delivery, token: Token | None, problem: Exception) -> None:
        """Something outside the node failed: try again later, and at last give up aloud."""
        reason = f"{type(problem).__name__}: {problem}"
        run = token.execution_id if token else ""
        self._at.log.write("warning", f"a message could not be handled: {reason}", run=run)
        try:
            if token is None or token.trouble >= len(RETRIES):
                await self._quarantine.put(delivery.body, token, reason)
            else:
                later = msgspec.structs.replace(token, trouble=token.trouble + 1)
                await self._at.bus.publish(RETRIES[token.trouble], encode_message(later))
        except Exception:
            # The broker itself is away: it will deliver the message again when it is back.
            await delivery.give_back()
        else:
            await delivery.ack()
