"""A scheduler: sends tokens whose time has come. Any number of them may run.

It knows no graph: what a timer sends is a token like any other (RFC 006 lets the scheduler find the
next node; here the worker does, so a wait that is the last node needs no rule of its own).
"""

from __future__ import annotations

import asyncio

from weft.errors import MessageError
from weft.kernel.messages import decode_token
from weft.ports.bus import Bus
from weft.ports.clock import Clock
from weft.ports.timers import Due, Timers
from weft.runtime.queues import EXECUTION, queue_of

BATCH = 500
LEASE_MS = 30_000
LOOK_AGAIN_S = 5.0
"""However quiet it is, look this often: a wake-up may get lost with a connection."""


class Scheduler:
    """Polls timers, publishes their tokens, and confirms them."""

    def __init__(self, timers: Timers, bus: Bus, clock: Clock) -> None:
        self._timers = timers
        self._bus = bus
        self._clock = clock

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            sent = await self.turn()
            if not sent:
                await self._sleep()

    async def turn(self) -> int:
        """Send what is due now, and say how much that was."""
        due = await self._timers.claim_due(self._clock.now_ms(), LEASE_MS, BATCH)
        if due:
            # All confirms first: a timer that is dropped before its token is safe would be lost.
            await asyncio.gather(*map(self._send, due))
            await self._timers.confirm(due)
        return len(due)

    async def _send(self, timer: Due) -> None:
        try:
            queue = queue_of(decode_token(timer.body))
        except MessageError:
            queue = EXECUTION  # a worker will quarantine it; here it would hold up all the others
        await self._bus.publish(queue, timer.body)

    async def _sleep(self) -> None:
        next_ms = await self._timers.next_due()
        delay_s = LOOK_AGAIN_S
        if next_ms is not None:
            delay_s = min(delay_s, max(0, next_ms - self._clock.now_ms()) / 1000)
        if delay_s > 0:
            await self._timers.wait_for_earlier(next_ms, delay_s)
