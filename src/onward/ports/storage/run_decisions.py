"""The decisions about runs, stored beside their history: they survive every process.

A run without decisions has no row here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec


class RunDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions about one run."""

    execution_id: str
    retry_of: str | None = None
    """The run that this one tries again."""
    root: str = ""
    """The first of its attempts: the ids of tokens are derived from it, so that what was kept is
    found. Empty: the run itself."""
    paused_ms: int | None = None
    """Since when it is paused."""
    priority: int = 0
    deadline_ms: int | None = None
    """When it fails with EXECUTION_TIMEOUT if it is still running."""


class RunDecisions(Protocol):
    """Stores decisions. Every call may be repeated."""

    async def note(self, control: RunDecision) -> None:
        """Store a decision made before a run began; what is there already stands."""
        ...

    async def control(self, execution_id: str) -> RunDecision:
        """Return the decisions about a run."""
        ...

    async def controls(self, execution_ids: Collection[str]) -> Mapping[str, RunDecision]:
        """Return the decisions about those of some runs that have any."""
        ...

    async def pause(self, execution_id: str, at_ms: int | None) -> None:
        """Store since when a run is paused; None: it is not."""
        ...

    async def attempts(self, execution_id: str) -> list[str]:
        """Return the runs that try a run again, in the order of their ids."""
        ...

    async def overdue(self, now_ms: int, limit: int) -> list[str]:
        """Return runs that are running beyond their deadline, the longest overdue first."""
        ...
