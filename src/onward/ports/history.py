"""What can be known about runs without serving them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from onward.ports.journal import Definition, Execution, NodeRun, Quarantined


class History(Protocol):
    """A view of the journal that never changes it and never waits for who does."""

    def executions(self) -> list[Execution]:
        """Return every run, newest first."""
        ...

    def execution(self, execution_id: str) -> Execution | None:
        """Return one run."""
        ...

    def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    def node_runs(self, execution_id: str) -> Iterator[NodeRun]:
        """Iterate over what the nodes of a run came to, in the order it was recorded."""
        ...

    def quarantine(self) -> list[Quarantined]:
        """Return what is in quarantine, oldest first."""
        ...

    def run_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of the newest runs that begin so."""
        ...

    def workflow_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of workflows that begin so."""
        ...

    def trigger_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of triggers that begin so."""
        ...

    def waited_for(self, execution_id: str) -> list[str]:
        """Return the runs whose end a run waits for, and those that they wait for."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...
