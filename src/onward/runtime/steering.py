"""Steering runs: what can be decided about one, the same embedded and on a cluster."""

from __future__ import annotations

from typing import Protocol

import msgspec

from onward.ports.controls import Control, Controls
from onward.ports.flow import Flow
from onward.ports.journal import Execution, NodeRun
from onward.ports.signals import KeptSignal

HIGHEST = 5


class How(msgspec.Struct, frozen=True, kw_only=True):
    """How a run begins, beside its definition and its input."""

    priority: int = 0
    """From 0 to 5: the higher, the sooner."""
    deadline_ms: int | None = None
    """When it fails if it still goes on."""
    retry_of: str | None = None
    """The run that it tries again."""
    root: str = ""
    """The first attempt of all, whose token ids it has too."""
    kept: tuple[NodeRun, ...] = ()
    """What it keeps of the history before, as its own."""
    signals: tuple[KeptSignal, ...] = ()
    """What was sent to the run before and is still good."""


PLAIN = How()


def control_of(execution_id: str, how: How) -> Control:
    """Return what is kept about how a run began."""
    return Control(
        execution_id=execution_id,
        retry_of=how.retry_of,
        root=how.root,
        priority=how.priority,
        deadline_ms=how.deadline_ms,
    )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What to change about the runs of a split that still wait for items."""

    split: str
    item: tuple[tuple[str, int], ...] = ()
    """Only inside this item."""
    window: int | None = None
    """How many items may be in flight; None: as before."""
    budget: int | None = None
    unlimited: bool = False
    """Any number of items may fail."""


class Steering(Protocol):
    """Steers runs that go on."""

    controls: Controls
    flow: Flow

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled, and tell its nodes; False when it has ended already."""
        ...

    async def expire(self, run: Execution) -> bool:
        """End a run as failed with EXECUTION_TIMEOUT; False when it has ended already."""
        ...

    async def pause(self, run: Execution) -> bool:
        """Let no node of a run begin, those that run finish; False when it has ended."""
        ...

    async def resume(self, run: Execution) -> bool:
        """Let a run go on; False when it has ended."""
        ...

    async def adjust(self, run: Execution, change: Change) -> int:
        """Change the runs of a split that still wait for items, and say how many there are."""
        ...

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with, as a JSON array; b"" if they are not known."""
        ...

    async def history(self, execution_id: str) -> list[NodeRun]:
        """Return what every visit of a run came to, with the outputs of large ones by reference."""
        ...
