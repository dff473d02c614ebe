"""Sets of events that start a run together, stored until the last of them has come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from onward.ports.storage.triggers import Firing


class EventSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Events of one trigger so far, and which of its filters they have met."""

    name: str
    began_ms: int
    size: int = 0
    """How many events are in it."""
    met: list[int] = []
    """Which of the filters are met."""
    until: list[int] = []
    """Which of those are met that end it."""
    keys: dict[str, Any] = {}
    """What correlated events agree in."""


class CollectedEvents(msgspec.Struct, frozen=True, kw_only=True):
    """The open sets of one trigger, at one revision."""

    revision: int = 0
    open: tuple[EventSet, ...] = ()


class EventJoin(msgspec.Struct, frozen=True, kw_only=True):
    """What one event changes."""

    trigger_id: str
    event_key: str
    at_ms: int
    after: CollectedEvents
    """What is open then; its revision is one above that which was read."""
    name: str = ""
    """The set that the event joins."""
    event: bytes | None = None
    """The event; None: it only completes the set, and is no part of it."""
    firing: Firing | None = None
    """What the set starts now that it is complete."""


class EventSets(Protocol):
    """Stores event sets."""

    async def read(self, trigger_id: str) -> CollectedEvents:
        """Return the open sets of a trigger."""
        ...

    async def knows(self, trigger_id: str, event_key: str) -> bool:
        """Return whether an event has joined already."""
        ...

    async def events(self, trigger_id: str, name: str) -> list[Mapping[str, Any]]:
        """Return the events of an open set, in the order they came."""
        ...

    async def join(self, joining: EventJoin) -> bool:
        """Write what an event changes, with what it starts, in one transaction.

        False, and nothing is written, when what is open is no longer at the revision before.
        """
        ...

    async def drop(self, trigger_id: str) -> None:
        """Delete everything of a trigger."""
        ...

    async def drop_events(self, before_ms: int) -> None:
        """Delete events that came before a moment."""
        ...
