"""Word of runs that have ended, through Redis: a channel for those who listen, and the tombstones.

runs:ended  channel  the name of a state that is over
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from redis.asyncio import Redis

from onward.adapters.redis.keys import Keys
from onward.ports.cluster.run_endings import RunEndings

CHANNEL = "runs:ended"
READ_S = 30.0
"""How long one read waits: its time limit is its own, since a command that is cut off may lose its
connection."""


class RedisRunEndings:
    """Tells, and hears."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def announce(self, state_id: str) -> None:
        """Tell everyone who listens."""
        await self._redis.publish(CHANNEL, state_id)

    async def listen(self) -> AsyncIterator[str]:
        """Iterate over what is told; raises RedisError when the connection is lost."""
        async with self._redis.pubsub(ignore_subscribe_messages=True) as listener:
            await listener.subscribe(CHANNEL)
            while True:
                message = await listener.get_message(timeout=READ_S)
                if message is not None:
                    yield message["data"].decode()

    async def ended_among(self, state_ids: Collection[str]) -> frozenset[str]:
        """Return which states have a tombstone."""
        asked = list(state_ids)
        pipe = self._redis.pipeline(transaction=False)
        for state_id in asked:
            pipe.hexists(Keys(state_id).done, "by")
        answers = await pipe.execute()
        return frozenset(state_id for state_id, over in zip(asked, answers, strict=True) if over)


_conforms: type[RunEndings] = RedisRunEndings
