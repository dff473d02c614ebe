"""Definitions and history, kept for everyone: the master writes it, workers read definitions.

Statuses and completions arrive at least once and in any order. Folding is idempotent: a node run is
written once for each (execution, token, node), and a run's terminal state is final.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.kernel.run_events import RunEvent


class Silence(NamedTuple):
    """A run that has not ended, and when a message last spoke of it (to some seconds)."""

    execution: RunRecord
    heard_ms: int


class EventLog(Protocol):
    """Keeps what happened in runs, where a ledger does that."""

    async def tell(self, execution_id: str, event: RunEvent) -> None:
        """Write what happened to a run that has not ended into its log of events."""
        ...


class HistoryStore(Protocol):
    """The ledger."""

    async def save_definition(self, definition: Definition) -> None:
        """Keep a definition; the same one may be saved any number of times."""
        ...

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    async def begin(
        self, execution: RunRecord, start: bytes = b"", kept: Sequence[VisitRecord] = ()
    ) -> bool:
        """Note that a run starts. False: there is one of that id already.

        `start` is a JSON array of the tokens it begins with: from them it can be begun again.
        `kept` is a history that it has from the beginning.
        """
        ...

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        """Fold a batch of messages into the history, in one transaction."""
        ...

    async def execution(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        ...

    async def executions(self, *, status: str | None = None, limit: int = 100) -> list[RunRecord]:
        """Return runs, newest first."""
        ...

    async def node_runs(self, execution_id: str) -> list[VisitRecord]:
        """Return what the nodes of a run came to, in the order it was recorded."""
        ...

    async def quiet(self, before_ms: int, *, after: str = "", limit: int = 100) -> list[Silence]:
        """Return runs that have not ended and of which nothing was heard since a moment.

        In the order of their ids, from the first behind `after`.
        """
        ...

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with, as `begin` was given them; b"" if none are known."""
        ...

    async def regenerate(self, execution_id: str, generation: int, now_ms: int) -> bool:
        """Make the next generation of a run its own, once. False: it ended, or another did it.

        It counts as heard of now.
        """
        ...

    async def prune(self, before_ms: int) -> int:
        """Drop runs that ended before a moment, with all that belongs to them; say how many."""
        ...
