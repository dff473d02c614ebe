"""Definitions and history, kept for everyone: the master writes it, workers read definitions.

Statuses and completions arrive at least once and in any order. Folding is idempotent: a node run is
written once for each (execution, token, node), and a run's terminal state is final.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from weft.kernel.messages import CompletionMessage, NodeStatusMessage
from weft.ports.journal import Definition, Execution, NodeRun


class Store(Protocol):
    """The ledger."""

    async def save_definition(self, definition: Definition) -> None:
        """Keep a definition; the same one may be saved any number of times."""
        ...

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    async def begin(self, execution: Execution) -> bool:
        """Note that a run starts. False: there is one of that id already."""
        ...

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        """Fold a batch of messages into the history, in one transaction."""
        ...

    async def execution(self, execution_id: str) -> Execution | None:
        """Return one run."""
        ...

    async def executions(self, *, status: str | None = None, limit: int = 100) -> list[Execution]:
        """Return runs, newest first."""
        ...

    async def node_runs(self, execution_id: str) -> list[NodeRun]:
        """Return what the nodes of a run came to, in the order it was recorded."""
        ...

    async def prune(self, before_ms: int) -> int:
        """Drop runs that ended before a moment, with all that belongs to them; say how many."""
        ...
