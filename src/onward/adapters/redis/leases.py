"""Leases in Redis: each is a timer that its owner moves on before it is due (`lease.lua`)."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from onward.adapters.redis.keys import Keys
from onward.adapters.redis.script_caller import ScriptCaller
from onward.adapters.redis.timers import KEYS, timer_name
from onward.ports.cluster.workers import Leases

PREFIX = "lease:"


class RedisLeases:
    """The leases of any number of runs. They are timers of the run: they are gone when it ends."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._caller = ScriptCaller(redis)

    async def take(
        self, state_id: str, token_id: str, *, owner: str, until_ms: int, body: bytes
    ) -> None:
        """Keep a message until its lease runs out; a lease of another owner is taken over."""
        await self._ask("take", state_id, token_id, owner, until_ms, body)

    async def extend(self, state_id: str, token_id: str, *, owner: str, until_ms: int) -> bool:
        """Move the end of a lease. False: it is no longer the owner's."""
        return bool(await self._ask("extend", state_id, token_id, owner, until_ms))

    async def is_held(self, state_id: str, token_id: str) -> bool:
        """Return whether anybody has a lease on a token that has not run out."""
        asking: Any = self._redis.zscore(KEYS[0], timer_name(state_id, PREFIX + token_id))
        return await asking is not None

    async def end(self, state_id: str, token_id: str, *, owner: str) -> None:
        """Give up a lease; one that is no longer the owner's is left alone."""
        await self._ask("end", state_id, token_id, owner)

    async def _ask(self, mode: str, state_id: str, token_id: str, *more: object) -> Any:
        timer = PREFIX + token_id
        keys = [*KEYS, Keys(state_id).timers]
        return await self._caller.call(
            "lease", keys, [mode, timer_name(state_id, timer), timer, *more]
        )


_conforms: type[Leases] = RedisLeases
