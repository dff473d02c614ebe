"""How far what happened has been told to somebody outside, who is told everything in order."""

from __future__ import annotations

from typing import Protocol


class PublishPositions(Protocol):
    """Keeps a place in the log of all events for each outlet. One process at a time tells."""

    async def take(
        self, name: str, holder: str, *, first: int, now_ms: int, until_ms: int
    ) -> int | None:
        """Take an outlet until a moment, and return up to which place it has been told.

        None: another holds it. One that is new begins after the place `first`.
        """
        ...

    async def move(self, name: str, holder: str, place: int, *, until_ms: int) -> bool:
        """Note how far it has been told, and hold it longer. False: another has taken it."""
        ...
