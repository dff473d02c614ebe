"""Hearing that a run was ended by somebody, so that whoever still works on it can stop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Protocol


class RunEndings(Protocol):
    """Word of runs that have ended. A word may get lost: so one can also ask."""

    async def tell(self, run: str) -> None:
        """Tell every worker that a state of a run (`Token.run`) is over."""
        ...

    def listen(self) -> AsyncIterator[str]:
        """Iterate over the states that were told of from now on, until the connection is lost."""
        ...

    async def ended(self, runs: Collection[str]) -> frozenset[str]:
        """Return which of these states are over."""
        ...
