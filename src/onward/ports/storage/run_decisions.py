"""What somebody has decided about a run, beside its history: it survives every process.

A run that nobody decided anything about has no line here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec


class RunDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about one run."""

    execution_id: str
    retry_of: str | None = None
    """The run that this one tries again."""
    root: str = ""
    """The first of its attempts: the ids of tokens follow from it, so that what was kept is found.
    Empty: the run itself."""
    paused_ms: int | None = None
    """Since when it is paused."""
    priority: int = 0
    deadline_ms: int | None = None
    """When it fails with EXECUTION_TIMEOUT if it still goes on."""


class RunDecisions(Protocol):
    """Keeps what was decided. Everything may be repeated."""

    async def note(self, control: RunDecision) -> None:
        """Keep what was decided before a run began; what is there already stands."""
        ...

    async def control(self, execution_id: str) -> RunDecision:
        """Return what was decided about a run."""
        ...

    async def controls(self, execution_ids: Collection[str]) -> Mapping[str, RunDecision]:
        """Return what was decided about each of some runs that anything was decided about."""
        ...

    async def pause(self, execution_id: str, at_ms: int | None) -> None:
        """Keep since when a run is paused; None: it is not."""
        ...

    async def attempts(self, execution_id: str) -> list[str]:
        """Return the runs that try a run again, in the order of their ids."""
        ...

    async def overdue(self, now_ms: int, limit: int) -> list[str]:
        """Return runs that go on beyond their deadline, the longest overdue first."""
        ...
