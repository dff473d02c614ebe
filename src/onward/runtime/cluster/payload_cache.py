"""Payloads near a worker: fetched once, and cached while there is room."""

from __future__ import annotations

from collections import OrderedDict

from onward.kernel.context import Payload, Ref
from onward.ports.storage.payloads import Payloads
from onward.runtime.token.context_reader import PayloadMissing

CACHE_BYTES = 64 * 1024 * 1024


class PayloadCache:
    """A payload store with a cache."""

    def __init__(self, payloads: Payloads, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._payloads = payloads
        self._cache: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._room = cache_bytes

    def load(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload that is cached, or raise PayloadMissing."""
        body = self._cached(execution_id, ref)
        if body is None:
            raise PayloadMissing(ref)
        return body

    async def put(self, execution_id: str, payload: Payload) -> None:
        """Store a payload, and cache it."""
        await self._payloads.put(execution_id, payload)
        self._add(execution_id, payload.ref, bytes(payload.body))

    async def get(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload, fetching it if it is not cached."""
        body = self._cached(execution_id, ref)
        if body is None:
            body = await self._payloads.get(execution_id, ref)
            self._add(execution_id, ref, body)
        return body

    def _cached(self, execution_id: str, ref: Ref) -> bytes | None:
        key = (execution_id, ref.hash)
        if key in self._cache:
            self._cache.move_to_end(key)
        return self._cache.get(key)

    def _add(self, execution_id: str, ref: Ref, body: bytes) -> None:
        if (execution_id, ref.hash) in self._cache:
            return
        self._cache[execution_id, ref.hash] = body
        self._room -= len(body)
        # The newest stays however large it is: a reader that missed it will load it next.
        while self._room < 0 and len(self._cache) > 1:
            _, freed = self._cache.popitem(last=False)
            self._room += len(freed)
