"""Values too large to carry, stored once for each run, by content."""

from __future__ import annotations

from typing import Protocol

from onward.kernel.context import Payload, Ref


class Payloads(Protocol):
    """A content-addressed store shared by all workers."""

    async def put(self, execution_id: str, payload: Payload) -> None:
        """Store a payload; the same one may be put any number of times."""
        ...

    async def get(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload; StorageError when it is not there."""
        ...
