"""Run control: what can be decided about a run, the same embedded and on a cluster."""

from __future__ import annotations

from typing import Protocol

import msgspec

from onward.kernel.effects import Adjust
from onward.kernel.records import RunRecord, VisitRecord
from onward.ports.cluster.inspection import Barrier
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.storage.start_rules import StartRules


class SplitChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change about the instances of a split that still wait for items."""

    split: str
    item: tuple[tuple[str, int], ...] = ()
    """Only inside this item of the splits around it."""
    window: int | None = None
    """How many items may be in flight; None: as before."""
    budget: int | None = None
    unlimited: bool = False
    """Any number of items may fail."""


class RunControl(Protocol):
    """Controls runs that are running."""

    controls: RunDecisions
    flow: StartRules

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled, and stop its nodes; False when it has ended already."""
        ...

    async def expire(self, run: RunRecord) -> bool:
        """End a run as failed with EXECUTION_TIMEOUT; False when it has ended already."""
        ...

    async def pause(self, run: RunRecord) -> bool:
        """Start no more nodes of a run, let running ones finish; False when it has ended."""
        ...

    async def resume(self, run: RunRecord) -> bool:
        """Let a paused run continue: parked messages are sent; False when it has ended."""
        ...

    async def adjust(self, run: RunRecord, change: SplitChange) -> int:
        """Change the instances of a split that still wait for items, and return their number."""
        ...

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens that a run started with, as a JSON array; b"" if they are not known."""
        ...

    async def history(self, execution_id: str) -> list[VisitRecord]:
        """Return every visit of a run, with large outputs by reference."""
        ...


def concerns(barrier: Barrier, change: SplitChange) -> bool:
    """Return whether a change is about a barrier."""
    origin = barrier.origin
    path = tuple((frame.split_node_id, frame.item_index) for frame in origin.lineage_stack)
    return origin.current_node == change.split and path[: len(change.item)] == change.item


def adjustment_of(barrier: Barrier, change: SplitChange) -> Adjust:
    """Return the adjustment of a barrier: what the change does not name stays as it is."""
    budget = barrier.budget if change.budget is None else change.budget
    return Adjust(
        split=barrier.split,
        window=change.window or barrier.window,
        budget=None if change.unlimited else budget,
    )
