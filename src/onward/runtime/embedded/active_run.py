"""Coordination cells in memory that remember what changed, so that a commit can write just that.

A scope that is born and closed between two commits leaves no trace: its cells are never written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.program import Program
from onward.ports.storage.journal import CellChanges


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


# -- One execution in memory: its program, its coordination state, and the tokens waiting for it.


Waiting = tuple[int, Token | bytes]
"""A message number, and its token; bytes until it is its turn."""


class ActiveRun:
    """The part of an execution that an engine holds while it serves it."""

    def __init__(self, execution_id: str, program: Program, cells: JournaledCells) -> None:
        self.execution_id = execution_id
        self.program = program
        self.cells = cells
        self.coordination = Coordination(cells)
        self.coordination.begin(Begin())
        self.ready: deque[Waiting] = deque()
        self.activities: dict[int, asyncio.Task[None]] = {}
        self.ended = False
        self.queued = False
        """Whether it already waits for its turn."""
        self.priority = 0
        self.kept: frozenset[tuple[str, str]] = frozenset()
        """(token, node) of the visits that it was given as history: they are told of already."""
        self.done: asyncio.Future[CompletionMessage] = asyncio.get_running_loop().create_future()
