"""A scheduler: sends tokens whose time has come. Any number of them may run.

It knows no graph: what a timer sends is a token like any other (RFC 006 lets the scheduler find the
next node; here the worker does, so a wait that is the last node needs no rule of its own).
"""

from __future__ import annotations

import asyncio

from onward.errors import MessageError
from onward.kernel.messages import decode_token
from onward.ports.bus import Bus
from onward.ports.clock import Clock
from onward.ports.metrics import UNMEASURED, Meter
from onward.ports.timers import Due, Timers
from onward.runtime.lateness import tell_lateness
from onward.runtime.queues import EXECUTION, level_of, queue_of

BATCH = 250
BATCHES = 16
"""How many batches are on their way at most."""
LEASE_MS = 30_000
LOOK_AGAIN_S = 5.0
"""However quiet it is, look this often: a wake-up may get lost with a connection."""


class Scheduler:
    """Polls timers, publishes their tokens, and confirms them."""

    def __init__(self, timers: Timers, bus: Bus, clock: Clock, meter: Meter = UNMEASURED) -> None:
        self._timers = timers
        self._bus = bus
        self._clock = clock
        self._meter = meter

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            sent = await self.turn()
            if not sent:
                await self._sleep()

    async def turn(self) -> int:
        """Send what is due now, and say how much that was.

        While one batch waits for its confirms, which is most of its time, the next are sent.
        """
        sent, room = 0, asyncio.Semaphore(BATCHES)
        async with asyncio.TaskGroup() as group:
            while True:
                await room.acquire()
                due = await self._timers.claim_due(self._clock.now_ms(), LEASE_MS, BATCH)
                if not due:
                    return sent
                sent += len(due)
                group.create_task(self._deliver(due, room))

    async def _deliver(self, due: list[Due], room: asyncio.Semaphore) -> None:
        # All confirms first: a timer that is dropped before its token is safe would be lost.
        await asyncio.gather(*map(self._send, due))
        await self._timers.confirm(due)
        if self._meter is not UNMEASURED:
            tell_lateness(self._meter, due, self._clock.now_ms())
        room.release()

    async def _send(self, timer: Due) -> None:
        try:
            token = decode_token(timer.body)
            queue, level = queue_of(token), level_of(token)
        except MessageError:
            # A worker will quarantine it; here it would hold up all the others.
            queue, level = EXECUTION, 0
        await self._bus.publish(queue, timer.body, priority=level)

    async def _sleep(self) -> None:
        next_ms = await self._timers.next_due()
        delay_s = LOOK_AGAIN_S
        if next_ms is not None:
            delay_s = min(delay_s, max(0, next_ms - self._clock.now_ms()) / 1000)
        if delay_s > 0:
            await self._timers.wait_for_earlier(next_ms, delay_s)
