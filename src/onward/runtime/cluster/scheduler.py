"""A scheduler: sends the tokens of timers that are due. Any number of them may run.

It knows no graph: what a timer sends is a token like any other (RFC 006 lets the scheduler find the
next node; here the worker does, so a wait that is the last node needs no rule of its own).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from onward.errors import MessageError
from onward.kernel.messages import decode_token
from onward.ports.clock import Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.timers import DueTimer, Timers
from onward.ports.telemetry import TIMER_LATENESS, TIMERS_FIRED, UNMEASURED, Meter
from onward.runtime.queues import EXECUTION, level_of, queue_of

BATCH_TIMERS = 250
MOST_BATCHES = 16
"""How many batches are on their way at most."""
LEASE_MS = 30_000
LONGEST_SLEEP_S = 5.0
"""However quiet it is, poll this often: a wake-up may get lost with a connection."""


class Scheduler:
    """Polls timers, publishes their tokens, and confirms them."""

    def __init__(self, timers: Timers, bus: Bus, clock: Clock, meter: Meter = UNMEASURED) -> None:
        self._timers = timers
        self._bus = bus
        self._clock = clock
        self._meter = meter

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            sent = await self.turn()
            if not sent:
                await self._sleep()

    async def turn(self) -> int:
        """Send the tokens that are due now, and return their number.

        While one batch waits for its confirms, which is most of its time, the next are sent.
        """
        sent, room = 0, asyncio.Semaphore(MOST_BATCHES)
        async with asyncio.TaskGroup() as group:
            while True:
                await room.acquire()
                due = await self._timers.claim_due(self._clock.now_ms(), LEASE_MS, BATCH_TIMERS)
                if not due:
                    return sent
                sent += len(due)
                group.create_task(self._deliver(due, room))

    async def _deliver(self, due: list[DueTimer], room: asyncio.Semaphore) -> None:
        # All confirms first: a timer that is dropped before its token is safe would be lost.
        await asyncio.gather(*map(self._send, due))
        await self._timers.confirm(due)
        if self._meter is not UNMEASURED:
            measure_lateness(self._meter, due, self._clock.now_ms())
        room.release()

    async def _send(self, timer: DueTimer) -> None:
        try:
            token = decode_token(timer.body)
            queue, level = queue_of(token), level_of(token)
        except MessageError:
            # A worker will quarantine it; here it would block all the others.
            queue, level = EXECUTION, 0
        await self._bus.publish(queue, timer.body, priority=level)

    async def _sleep(self) -> None:
        next_ms = await self._timers.next_due()
        delay_s = LONGEST_SLEEP_S
        if next_ms is not None:
            delay_s = min(delay_s, max(0, next_ms - self._clock.now_ms()) / 1000)
        if delay_s > 0:
            await self._timers.wait_for_earlier(next_ms, delay_s)


# -- lateness ------------------------------------------------------------------------------------


class _TokenTime(msgspec.Struct, frozen=True):
    """When a token was due: a wait or a retry carries that as the time at which it is sent."""

    token_id: str = ""
    signal: str = ""
    sent_at: int = 0


_decoder = msgspec.json.Decoder(_TokenTime)


def measure_lateness(meter: Meter, timers: Sequence[DueTimer], now_ms: int) -> None:
    """Count timers whose tokens were sent at `now_ms`, and measure how late they are.

    A time-out carries the time at which it was set, and a lease that of its message: these are only
    counted.
    """
    meter.add(TIMERS_FIRED, amount=len(timers))
    for timer in timers:
        try:
            token = _decoder.decode(timer.body)
        except msgspec.DecodeError:
            continue
        if token.token_id == timer.timer_id and token.signal != "timeout" and token.sent_at:
            meter.observe(TIMER_LATENESS, max(0, now_ms - token.sent_at) / 1000)
