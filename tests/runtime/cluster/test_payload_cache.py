"""Payloads near a worker: what is used again stays, what is not makes room."""

import pytest

from onward.kernel.context import payload_of
from onward.runtime.cluster.payload_cache import PayloadCache
from onward.runtime.token.context_reader import PayloadMissing


class Shelf:
    """Where payloads are kept for good."""

    def __init__(self):
        self.bodies = {}

    async def put(self, execution_id, payload):
        self.bodies[payload.ref.hash] = bytes(payload.body)

    async def get(self, execution_id, ref):
        return self.bodies[ref.hash]


async def test_what_was_used_last_is_kept_when_room_is_short():
    cache = PayloadCache(Shelf(), cache_bytes=10)
    first, second, third = (payload_of(body) for body in (b'"aa"', b'"bb"', b'"cc"'))
    await cache.put("run", first)
    await cache.put("run", second)
    cache.load("run", first.ref)

    await cache.put("run", third)

    assert b'"aa"' == cache.load("run", first.ref)
    with pytest.raises(PayloadMissing):
        cache.load("run", second.ref)
    assert b'"bb"' == await cache.get("run", second.ref)
