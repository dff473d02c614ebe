"""Notes about the tokens of runs in Redis: who holds each, and which come again.

    exec:{ID}:holders  hash  token -> worker US since, epoch ms           (written by `claim`)
                             token -> why and when it comes again, as JSON (by `trouble`)

It is gone when the run is. Releases travel together, a second late: a message costs no
round trip more than it did. What is settled is known to be so from the run's state.
"""

from __future__ import annotations

import asyncio

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from onward.adapters.redis.keys import Keys
from onward.adapters.redis.script_caller import ScriptCaller
from onward.ports.cluster.workers import DeliveryFailure, HeldToken, Holdings

PAUSE_S = 1.0
"""Most runs of short nodes are over by then, and all that was noted about them is gone."""
SEPARATOR = b"\x1f"

_troubles = msgspec.json.Decoder(DeliveryFailure)


class RedisHolders:
    """Notes about the tokens of any number of runs."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._caller = ScriptCaller(redis)
        self._released: dict[str, list[str]] = {}
        self._sender: asyncio.Task[None] | None = None

    def release(self, state_id: str, token_id: str) -> None:
        """Note, within a second or so, that nobody holds a token any more."""
        self._released.setdefault(state_id, []).append(token_id)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def flush(self) -> None:
        """Return when every release has been noted, or could not be."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait([self._sender])
        await self._write()

    async def note_failure(self, state_id: str, token_id: str, failure: DeliveryFailure) -> None:
        """Note that a message will come again. Without effect once the run is over."""
        keys = Keys(state_id)
        body = msgspec.json.encode(failure)
        await self._caller.call("trouble", [keys.done, keys.holders], [token_id, body])

    async def _send(self) -> None:
        while self._released:
            await asyncio.sleep(PAUSE_S)
            await asyncio.shield(self._write())

    async def _write(self) -> None:
        released, self._released = self._released, {}
        pipe = self._redis.pipeline(transaction=False)
        for state_id, tokens in released.items():
            pipe.hdel(Keys(state_id).holders, *tokens)
        try:
            await pipe.execute()
        except (RedisError, OSError):
            # Once more, later: a note that stays is taken for a sign of life of its run.
            for state_id, tokens in released.items():
                self._released.setdefault(state_id, []).extend(tokens)


async def read_notes(redis: Redis, keys: Keys) -> dict[str, HeldToken | DeliveryFailure]:
    """Return token -> who holds it, or why and when it comes again."""
    return {
        token.decode(): _note(value)
        async for token, value in redis.hscan_iter(keys.holders, count=1_000)
    }


def _note(value: bytes) -> HeldToken | DeliveryFailure:
    if value.startswith(b"{"):
        return _troubles.decode(value)
    worker, _, since = value.rpartition(SEPARATOR)
    return HeldToken(worker.decode(), int(since))


_conforms: type[Holdings] = RedisHolders
