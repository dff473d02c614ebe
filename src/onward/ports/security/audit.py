"""The audit log: who changed what, when and from where. It never holds a secret."""

from __future__ import annotations

from typing import Protocol

import msgspec


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change."""

    at_ms: int
    actor: str
    """`local`, `operator`, `token:NAME`, `user:NAME`, or `cli:NAME` for the command line."""
    action: str
    """The operation of the API, by its name."""
    target: str
    """What was changed: `workflow hello`."""
    origin: str
    """The address the request came from."""
    request_id: str
    before: str
    """A digest of what was there; "" for nothing."""
    after: str
    """A digest of what is there now; "" for nothing."""
    seq: int = 0
    """Its place in the log, given when it is written."""


class AuditLog(Protocol):
    """Stores entries. None is ever changed."""

    async def write(self, entry: AuditEntry) -> None:
        """Add an entry."""
        ...

    async def entries(
        self, *, before: int, limit: int, actor: str = "", action: str = "", target: str = ""
    ) -> list[AuditEntry]:
        """Return entries below a place, newest first; a filter that is given must be equal."""
        ...

    async def prune(self, before_ms: int) -> int:
        """Delete entries from before a moment, and return how many."""
        ...
