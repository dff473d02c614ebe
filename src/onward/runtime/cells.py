"""Coordination cells in memory that remember what changed, so that a commit can write just that.

A scope that is born and closed between two commits leaves no trace: its cells are never written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onward.kernel.cells import MemoryCells
from onward.ports.journal import CellChanges


class JournaledCells(MemoryCells):
    """The cells of one run, loaded from the journal and written back by its commits."""

    def forgettable(self, kind: str, value: Any) -> bool:
        """Return whether a cell need not outlive the process."""
        return False

    def __init__(self, stored: Iterable[tuple[str, str, str, Any]] = ()) -> None:
        super().__init__()
        self._stored: set[str] = set()
        for group, kind, field, value in stored:
            super().put(group, kind, field, value)
            self._stored.add(group)
        self._changes = CellChanges()

    def put(self, group: str, kind: str, field: str, value: Any) -> None:
        """Set the cell, and remember to write it."""
        super().put(group, kind, field, value)
        if not self.forgettable(kind, value):
            self._changes.cells.setdefault(group, {})[kind, field] = value

    def drop(self, group: str) -> None:
        """Drop a whole group, and remember to delete it if it was ever written."""
        super().drop(group)
        self._changes.cells.pop(group, None)
        if group in self._stored:
            self._stored.discard(group)
            self._changes.dropped.add(group)

    def take(self) -> CellChanges:
        """Return what changed since the last call; the caller will write it."""
        changes, self._changes = self._changes, CellChanges()
        self._stored.update(changes.cells)
        return changes


class AtomicCells(JournaledCells):
    """Cells of an engine whose commits hold a consumed token, its effects and its successors.

    Such an engine never sees two copies of a token or two outcomes of a step, not even after a
    crash, so who owns a token and which single child a step has need not be remembered for one.
    How a step with several children was counted must be. Nor can such a state get lost apart from
    its run, so that it was begun goes without saying.
    """

    def forgettable(self, kind: str, value: Any) -> bool:
        """Return whether a cell need not outlive the process."""
        return kind in ("owner", "born") or (kind == "fate" and value[1] == 1)
