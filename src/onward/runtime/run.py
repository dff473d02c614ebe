"""One execution in memory: its program, its coordination state, and the tokens waiting for it."""

from __future__ import annotations

import asyncio
from collections import deque

from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.program import Program
from onward.runtime.cells import JournaledCells

Waiting = tuple[int, Token | bytes]
"""A message number, and its token; bytes until it is its turn."""


class Run:
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
