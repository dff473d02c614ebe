"""Payloads near a worker: fetched once, kept while there is room.

Reading a context is synchronous, fetching is not. A reader that meets a payload which is not here
yet raises `Missing`; the caller fetches it and reads again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from onward.kernel.context import Payload, Ref
from onward.ports.storage.payloads import Payloads

T = TypeVar("T")
CACHE_BYTES = 64 * 1024 * 1024


class PayloadMissing(Exception):  # noqa: N818  (a question, not an error)
    """A payload has to be fetched first."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


class PayloadCache:
    """A payload store with a memory."""

    def __init__(self, payloads: Payloads, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._payloads = payloads
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._room = cache_bytes

    def load(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload that is here, or raise Missing."""
        body = self._found(execution_id, ref)
        if body is None:
            raise PayloadMissing(ref)
        return body

    async def put(self, execution_id: str, payload: Payload) -> None:
        """Store a payload, and keep it here too."""
        await self._payloads.put(execution_id, payload)
        self._keep(execution_id, payload.ref, bytes(payload.body))

    async def get(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload, fetching it if it is not here."""
        body = self._found(execution_id, ref)
        if body is None:
            body = await self._payloads.get(execution_id, ref)
            self._keep(execution_id, ref, body)
        return body

    async def read(self, execution_id: str, reading: Callable[[], T]) -> T:
        """Return what `reading` returns, fetching whatever it misses."""
        while True:
            try:
                return reading()
            except PayloadMissing as missing:
                await self.get(execution_id, missing.ref)

    def _found(self, execution_id: str, ref: Ref) -> bytes | None:
        key = (execution_id, ref.hash)
        if key in self._kept:
            self._kept.move_to_end(key)  # what is used again stays longest
        return self._kept.get(key)

    def _keep(self, execution_id: str, ref: Ref, body: bytes) -> None:
        if (execution_id, ref.hash) in self._kept:
            return
        self._kept[execution_id, ref.hash] = body
        self._room -= len(body)
        while self._room < 0 and len(self._kept) > 1:
            _, freed = self._kept.popitem(last=False)
            self._room += len(freed)
