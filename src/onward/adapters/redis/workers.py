"""The workers of a cluster in Redis: their names, and when each was last seen.

    workers:info  hash  name -> the facts that a worker announces
    workers:seen  zset  name -> when it last announced them, epoch ms

A worker that died stays listed for a day, so that it can be shown since when it is silent.
"""

from __future__ import annotations

from typing import Any

import msgspec
from redis.asyncio import Redis

from onward.ports.cluster.workers import WorkerInfo, WorkerRegistry

INFO = "workers:info"
SEEN = "workers:seen"
LISTED_S = 86_400

_info = msgspec.json.Decoder(WorkerInfo)


class RedisWorkerRegistry:
    """The `WorkerRegistry` of a cluster."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def announce(self, worker: WorkerInfo) -> None:
        """Announce a worker, and remove those that have been silent for a day."""
        async with self._redis.pipeline(transaction=True) as saying:
            saying.hset(INFO, worker.name, msgspec.json.encode(worker).decode())
            saying.zadd(SEEN, {worker.name: worker.seen_ms})
            for key in (INFO, SEEN):
                saying.expire(key, LISTED_S)
            saying.zrangebyscore(SEEN, "-inf", worker.seen_ms - LISTED_S * 1000)
            answers = await saying.execute()
        for name in answers[-1]:
            await self.leave(name.decode())

    async def leave(self, name: str) -> None:
        """Remove a worker."""
        async with self._redis.pipeline(transaction=True) as leaving:
            leaving.hdel(INFO, name)
            leaving.zrem(SEEN, name)
            await leaving.execute()

    async def workers(self) -> list[WorkerInfo]:
        """Return every worker that is listed, by name."""
        reading: Any = self._redis.hgetall(INFO)
        workers = [_info.decode(body) for body in (await reading).values()]
        return sorted(workers, key=lambda worker: worker.name)


_conforms: type[WorkerRegistry] = RedisWorkerRegistry
