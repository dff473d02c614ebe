"""Signs of life of runs in Redis: one small pipeline for many of them."""

from __future__ import annotations

from collections.abc import Sequence

from redis.asyncio import Redis

from onward.adapters.redis.holders import SEPARATOR
from onward.adapters.redis.keys import Keys
from onward.adapters.redis.script_caller import ScriptCaller
from onward.ports.cluster.liveness import RunLiveness, RunPulse


class RedisRunLiveness:
    """Looks at any number of runs."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._caller = ScriptCaller(redis)

    async def take(self, state_ids: Sequence[str]) -> list[RunPulse]:
        """Return the pulse of each state."""
        pipe = self._redis.pipeline(transaction=False)
        for keys in map(Keys, state_ids):
            pipe.hmget(keys.done, ["born", "by", "probe"])
            pipe.scard(keys.timers)
            pipe.hvals(keys.holders)
            pipe.exists(keys.groups)
        answers = iter(await pipe.execute())
        return [
            RunPulse(
                born=born is not None,
                ended=by is not None,
                timers=timers,
                holders=frozenset(_worker(note) for note in held if not note.startswith(b"{")),
                probe=(probe or b"").decode(),
                claimed=bool(claimed),
            )
            for (born, by, probe), timers, held, claimed in zip(
                answers, answers, answers, answers, strict=True
            )
        ]

    async def mark(self, state_id: str, probe: str) -> None:
        """Note that a probe came through the queue."""
        await self._caller.call("mark", [Keys(state_id).done], [probe])


def _worker(note: bytes) -> str:
    return note.rpartition(SEPARATOR)[0].decode()


_conforms: type[RunLiveness] = RedisRunLiveness
