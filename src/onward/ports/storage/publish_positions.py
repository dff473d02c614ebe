"""The published position of each event publisher: sinks outside receive all events in order."""

from __future__ import annotations

from typing import Protocol


class PublishPositions(Protocol):
    """Stores a place in the log of all events for each publisher, held by one process at a time."""

    async def take(
        self, name: str, holder: str, *, first: int, now_ms: int, until_ms: int
    ) -> int | None:
        """Take a publisher until a moment, and return the last place it has published.

        None: another process holds it. A new one begins after the place `first`.
        """
        ...

    async def move(self, name: str, holder: str, place: int, *, until_ms: int) -> bool:
        """Record the published place, and hold it longer. False: another process has taken it."""
        ...
