"""A run in the memory of the embedded engine: its program, its cells, the tokens that wait.

`JournaledCells` remember what changed, so that a commit can write just that. A scope that is born
and closed between two commits leaves no trace: its cells are never written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.program import Program
from onward.ports.storage.journal import CellChanges


class JournaledCells(MemoryCells):
    """The cells of one run, loaded from the journal and written back by its commits."""

    def __init__(self, stored: Iterable[tuple[str, str, str, Any]] = ()) -> None:
        super().__init__()
        self._stored: set[str] = set()
        for group, kind, field, value in stored:
            super().put(group, kind, field, value)
            self._stored.add(group)
        self._changes = CellChanges()

    def forgettable(self, kind: str, value: Any) -> bool:
        """Return whether a cell need not outlive the process.

        One commit holds a consumed token, its effects and its successors. So the engine never sees
        two copies of a token or two outcomes of a step, not even after a crash: who owns a token
        and which single child a step has need not be remembered for one. How a step with several
        children was counted must be. Nor can the state get lost apart from its run, so that it was
        begun goes without saying.
        """
        return kind in ("owner", "born") or (kind == "fate" and value[1] == 1)

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


class QueuedToken(NamedTuple):
    """A token that waits for its turn, under the number of its message."""

    seq: int
    token: Token | bytes
    """Bytes, as they come from the journal, until it is looked at."""


class ActiveRun:
    """The part of a run that an engine holds while it serves it."""

    def __init__(self, execution_id: str, program: Program, cells: JournaledCells) -> None:
        self.execution_id = execution_id
        self.program = program
        self.cells = cells
        self.coordination = Coordination(cells)
        self.coordination.begin(Begin())
        self.ready: deque[QueuedToken] = deque()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        """Activities and long evaluations that run, by the numbers of their messages."""
        self.ended = False
        self.queued = False
        """Whether it already waits for its turn."""
        self.priority = 0
        self.inherited: frozenset[tuple[str, str]] = frozenset()
        """(token, node) of the visits it has from the attempt before: they are reported already."""
        self.done: asyncio.Future[CompletionMessage] = asyncio.get_running_loop().create_future()
