"""The store of definitions and history: masters write it, workers read definitions.

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
    """A run that has not ended, and when a message last mentioned it (to some seconds)."""

    execution: RunRecord
    heard_ms: int


class EventLog(Protocol):
    """The event logs of runs, where the history store has them."""

    async def tell(self, execution_id: str, event: RunEvent) -> None:
        """Write an event into the log of a run that has not ended."""
        ...


class HistoryStore(Protocol):
    """Stores definitions, runs and their history."""

    async def save_definition(self, definition: Definition) -> None:
        """Save a definition; the same one may be saved any number of times."""
        ...

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    async def begin(
        self, execution: RunRecord, start: bytes = b"", kept: Sequence[VisitRecord] = ()
    ) -> bool:
        """Record that a run starts. False: there is one of that id already.

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
        """Return the visits of a run, in the order they were recorded."""
        ...

    async def quiet(self, before_ms: int, *, after: str = "", limit: int = 100) -> list[Silence]:
        """Return runs that have not ended and that no message has mentioned since a moment.

        In the order of their ids, from the first behind `after`.
        """
        ...

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with, as `begin` was given them; b"" if none are known."""
        ...

    async def regenerate(self, execution_id: str, generation: int, now_ms: int) -> bool:
        """Make the next generation of a run its own, once. False: it ended, or another did it.

        It counts as mentioned now.
        """
        ...

    async def prune(self, before_ms: int) -> int:
        """Delete runs that ended before a moment, with all that is theirs; return how many."""
        ...
