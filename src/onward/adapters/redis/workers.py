"""The workers of a cluster in Redis: who they are, and when each was last heard of.

    workers:info  hash  name -> what a worker says about itself
    workers:seen  zset  name -> when it last said so, epoch ms

A worker that died stays listed for a day, so that it can be said since when it is silent.
"""

from __future__ import annotations

from typing import Any

import msgspec
from redis.asyncio import Redis

from onward.ports.cluster.workers import WorkerInfo, WorkerRegistry

INFO = "workers:info"
SEEN = "workers:seen"
KEPT_S = 86_400

_presence = msgspec.json.Decoder(WorkerInfo)


class RedisWorkerRegistry:
    """The workers of one cluster."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def announce(self, presence: WorkerInfo) -> None:
        """Say that a worker is there, and strike off whoever has been silent for a day."""
        async with self._redis.pipeline(transaction=True) as saying:
            saying.hset(INFO, presence.name, msgspec.json.encode(presence).decode())
            saying.zadd(SEEN, {presence.name: presence.seen_ms})
            for key in (INFO, SEEN):
                saying.expire(key, KEPT_S)
            saying.zrangebyscore(SEEN, "-inf", presence.seen_ms - KEPT_S * 1000)
            answers = await saying.execute()
        for name in answers[-1]:
            await self.leave(name.decode())

    async def leave(self, name: str) -> None:
        """Strike a worker off."""
        async with self._redis.pipeline(transaction=True) as leaving:
            leaving.hdel(INFO, name)
            leaving.zrem(SEEN, name)
            await leaving.execute()

    async def workers(self) -> list[WorkerInfo]:
        """Return every worker that is listed, by name."""
        reading: Any = self._redis.hgetall(INFO)
        found = [_presence.decode(one) for one in (await reading).values()]
        return sorted(found, key=lambda one: one.name)


_conforms: type[WorkerRegistry] = RedisWorkerRegistry
