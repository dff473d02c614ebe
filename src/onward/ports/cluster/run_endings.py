"""Hearing that a run has ended, so that workers can stop the nodes that still run for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Protocol


class RunEndings(Protocol):
    """Announcements of runs that have ended. One may get lost: so one can also ask."""

    async def announce(self, state_id: str) -> None:
        """Tell every worker that a state of a run is over."""
        ...

    def listen(self) -> AsyncIterator[str]:
        """Iterate over the states that are announced from now on, until the connection is lost."""
        ...

    async def ended_among(self, state_ids: Collection[str]) -> frozenset[str]:
        """Return which of these states are over."""
        ...
