"""Stored signals to runs, and links between parent and child runs: both outlive the runs' state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec


class StoredSignal(msgspec.Struct, frozen=True, kw_only=True):
    """A signal that was sent."""

    execution_id: str
    address: str
    signal_id: str
    content: bytes
    """Its value, as `kernel.signal_waits.Sent` in JSON."""
    sender: str
    """Its origin: `api`, `webhook`, `event`, or the approver."""
    sent_ms: int


class PlacedSignal(NamedTuple):
    """A signal, and its place in the order in which they came."""

    place: int
    signal: StoredSignal


class SignalLog(Protocol):
    """Stores every signal to a run."""

    async def keep(self, signal: StoredSignal) -> bool:
        """Store a signal; False: there is one of that id at that address already."""
        ...

    async def signal(self, execution_id: str, address: str, signal_id: str) -> StoredSignal | None:
        """Return a signal."""
        ...

    async def signals(self, execution_id: str, *, after: int, limit: int) -> list[PlacedSignal]:
        """Return a page of a run's signals, in the order they came."""
        ...


class ChildLink(msgspec.Struct, frozen=True, kw_only=True):
    """One run started another."""

    child_id: str
    parent_id: str
    node_id: str
    token_id: str
    depth: int
    """How many runs are above the child."""
    waits: bool
    """Whether the parent waits for the end of the child."""


class ChildLinks(Protocol):
    """Stores which run started which."""

    async def add(self, link: ChildLink) -> None:
        """Store a link; the first one of a child stands."""
        ...

    async def parents(self, children: Sequence[str]) -> list[ChildLink]:
        """Return the links of those runs that another one started."""
        ...

    async def children(self, parent_id: str, *, after: str, limit: int) -> list[ChildLink]:
        """Return a page of the children of a run, by their ids."""
        ...

    async def untold(self) -> list[ChildLink]:
        """Return the links of which one side waits for the other, and only one has ended."""
        ...
