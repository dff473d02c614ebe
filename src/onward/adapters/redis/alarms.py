"""Looking at the timers of all runs, without taking any."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from onward.adapters.redis.timers import KEYS, SEPARATOR


async def due_timers(redis: Redis, limit: int) -> list[tuple[str, str, int]]:
    """Return the timers that are due first: run, timer, epoch milliseconds."""
    reading: Any = redis.zrange(KEYS[0], 0, limit - 1, withscores=True)
    found = []
    for name, due_ms in await reading:
        run, _, timer = name.decode().partition(SEPARATOR)
        found.append((run, timer, int(due_ms)))
    return found
