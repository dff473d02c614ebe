"""Timers in Redis (RFC 006): a due set, a set of leases, and the tokens to send.

Any number of schedulers may poll. Each is notified when a timer is set that is due before all
others, so it can sleep until the next one instead of polling.
"""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis

from onward.adapters.redis.keys import Keys
from onward.adapters.redis.script_caller import ScriptCaller
from onward.ports.cluster.timers import DueTimer, Timers

KEYS = ["scheduler:timers", "scheduler:payloads", "scheduler:processing", "scheduler:leases"]
CHANNEL = "scheduler:wake"
SEPARATOR = "\x1f"
PARKED = "parked:"
"""The prefix of timers that hold the messages of a paused run."""
TIMERS_PAGE = 1_000
CLAIM_BYTES = 2 * 1024 * 1024
"""A claim takes no more tokens than these together: a larger answer would block the server."""


class RedisTimers:
    """The `Timers` of all runs."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._caller = ScriptCaller(redis)

    async def set(self, state_id: str, timer_id: str, due_ms: int, body: bytes) -> None:
        """Set a timer; the first setting stands. A run that has ended gets none."""
        name, of_run = timer_name(state_id, timer_id), Keys(state_id)
        keys = [*KEYS[:3], of_run.timers, of_run.done]
        await self._caller.call("set_timer", keys, [name, due_ms, body, CHANNEL, timer_id])

    async def hasten(self, state_id: str, timer_id: str, now_ms: int) -> None:
        """Let a timer be due now."""
        arguments = [timer_name(state_id, timer_id), now_ms, CHANNEL]
        await self._caller.call("hasten_timer", KEYS[:1], arguments)

    async def cancel(self, state_id: str, timer_id: str) -> None:
        """Forget a timer."""
        await self._end("drop_timers", [(state_id, timer_id)])

    async def cancel_all(self, state_id: str) -> None:
        """Forget every timer of a run that has ended."""
        listed = Keys(state_id).timers
        if not await self._caller.command("EXISTS", listed):
            return
        found: list[tuple[str, str]] = []
        async for timer in self._redis.sscan_iter(listed, count=TIMERS_PAGE):
            found.append((state_id, timer.decode()))
            if len(found) >= TIMERS_PAGE:
                await self._end("drop_timers", found)
                found = []
        await self._end("drop_timers", found)

    async def park(self, state_id: str, token_id: str, until_ms: int, body: bytes) -> bool:
        """Keep the message of a paused run."""
        timer_id, of_run = f"{PARKED}{token_id}", Keys(state_id)
        keys = [*KEYS[:3], of_run.timers, of_run.done]
        name = timer_name(state_id, timer_id)
        return bool(await self._caller.call("park", keys, [name, until_ms, body, timer_id]))

    async def unpark(self, state_id: str, now_ms: int) -> int:
        """Let every parked message of a run be sent now."""
        listed, names, moved = Keys(state_id).timers, list[str](), 0
        async for timer in self._redis.sscan_iter(listed, match=f"{PARKED}*", count=TIMERS_PAGE):
            names.append(timer_name(state_id, timer.decode()))
            if len(names) >= TIMERS_PAGE:
                moved += await self._move(names, now_ms)
                names = []
        return moved + await self._move(names, now_ms)

    async def _move(self, names: list[str], due_ms: int) -> int:
        """Make timers due; those that a scheduler is sending already are left to it."""
        if names:
            moving: Any = self._redis.zadd(KEYS[0], dict.fromkeys(names, due_ms), xx=True)
            await moving
            await self._redis.publish(CHANNEL, due_ms)
        return len(names)

    async def claim_due(self, now_ms: int, lease_ms: int, limit: int) -> list[DueTimer]:
        """Lease timers that are due, earliest first, and those whose lease has run out."""
        arguments = [now_ms, now_ms + lease_ms, limit, CLAIM_BYTES]
        answer = await self._caller.call("poll_timers", KEYS, arguments)
        due = []
        for name, body in zip(answer[::2], answer[1::2], strict=True):
            state_id, _, timer_id = name.decode().partition(SEPARATOR)
            due.append(DueTimer(timer_id, state_id, body))
        return due

    async def confirm(self, timers: list[DueTimer]) -> None:
        """The tokens are published: the timers are gone.

        But not one that was set again meanwhile, as a lease is that another worker has taken.
        """
        await self._end("confirm_timers", [(timer.state_id, timer.timer_id) for timer in timers])

    async def next_due(self) -> int | None:
        """Return when the next timer is due or the next lease runs out."""
        times = []
        for key in (KEYS[0], KEYS[2]):
            first: Any = await self._redis.zrange(key, 0, 0, withscores=True)
            times += [int(score) for _, score in first]
        return min(times, default=None)

    async def wait_for_earlier(self, than_ms: int | None, timeout_s: float) -> None:
        """Return when there is a timer due before `than_ms`, or after the time given.

        The time limit is the read's own: to cancel a command half-way may lose its connection.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + timeout_s
        async with self._redis.pubsub() as listener:
            await listener.subscribe(CHANNEL)
            while (left_s := until - clock()) > 0:
                # The first message says that we are subscribed. Only from then on no wake-up is
                # missed, so a timer that was set before has to be read.
                message = await listener.get_message(timeout=left_s)
                if message is None:
                    continue
                first_ms = await self.next_due()
                if first_ms is not None and (than_ms is None or first_ms < than_ms):
                    return

    async def _end(self, script: str, timers: list[tuple[str, str]]) -> None:
        """End timers, each named by its run and by what that calls it."""
        for start in range(0, len(timers), TIMERS_PAGE):
            page = timers[start : start + TIMERS_PAGE]
            keys = [*KEYS, *(Keys(state_id).timers for state_id, _ in page)]
            names = [
                part
                for state_id, timer_id in page
                for part in (timer_name(state_id, timer_id), timer_id)
            ]
            await self._caller.call(script, keys, names)


def timer_name(state_id: str, timer_id: str) -> str:
    """Return what a timer of a run is called among all timers."""
    return f"{state_id}{SEPARATOR}{timer_id}"


async def due_timers(redis: Redis, limit: int) -> list[tuple[str, str, int]]:
    """Return the timers that are due first, and take none: state id, timer, epoch milliseconds."""
    reading: Any = redis.zrange(KEYS[0], 0, limit - 1, withscores=True)
    timers = []
    for name, due_ms in await reading:
        state_id, _, timer_id = name.decode().partition(SEPARATOR)
        timers.append((state_id, timer_id, int(due_ms)))
    return timers


_conforms: type[Timers] = RedisTimers
