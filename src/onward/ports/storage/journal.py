"""The journal of the embedded engine: everything that must be true together, in one commit.

A batch is what some number of handled tokens did: tokens consumed and sent, timers, coordination
cells, payloads, node runs, executions. It is committed whole or not at all, so consuming a token,
its effects and its successors are one transaction, however many of them share it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from onward.kernel.context import Payload, Ref
from onward.kernel.messages import Token
from onward.kernel.records import Definition, QuarantineRecord, RunRecord, VisitRecord
from onward.kernel.run_events import StoredEvent


@dataclass(slots=True)
class CellChanges:
    """What changed in one run's coordination state: groups dropped, then cells set."""

    dropped: set[str] = field(default_factory=set)
    cells: dict[str, dict[tuple[str, str], Any]] = field(default_factory=dict)


@dataclass(slots=True)
class JournalCommit:
    """What one commit makes true."""

    definitions: list[Definition] = field(default_factory=list)
    started: list[RunRecord] = field(default_factory=list)
    ended: list[RunRecord] = field(default_factory=list)
    sent: dict[int, Token] = field(default_factory=dict)
    consumed: list[int] = field(default_factory=list)
    timers: dict[str, tuple[int, Token]] = field(default_factory=dict)
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    """(execution, timer)."""
    cells: dict[str, CellChanges] = field(default_factory=dict)
    payloads: list[tuple[str, Payload]] = field(default_factory=list)
    node_runs: list[VisitRecord] = field(default_factory=list)
    quarantined: list[QuarantineRecord] = field(default_factory=list)
    events: list[StoredEvent] = field(default_factory=list)


class Journal(Protocol):
    """Stores commits, and what a restart reads. One process writes it at a time."""

    def commit(self, batch: JournalCommit) -> None:
        """Make the whole batch durable before returning. Called from one thread at a time."""
        ...

    def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    def execution(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        ...

    def unfinished(self) -> list[RunRecord]:
        """Return every run that has not ended, oldest first."""
        ...

    def messages(self, execution_id: str) -> Iterator[tuple[int, bytes]]:
        """Iterate over the tokens of a run that are not consumed, in the order they were sent."""
        ...

    def last_message(self) -> int:
        """Return the highest message number in use."""
        ...

    def cells(self, execution_id: str) -> Iterator[tuple[str, str, str, Any]]:
        """Iterate over a run's coordination cells: group, kind, field, value."""
        ...

    def payload(self, execution_id: str, ref: Ref) -> bytes:
        """Return a stored payload; StorageError if it is not there."""
        ...

    def timers(self, execution_id: str) -> list[tuple[int, str]]:
        """Return when each timer of a run is due, and its id."""
        ...

    def timer(self, execution_id: str, timer_id: str) -> bytes | None:
        """Return the token that a timer will send, or None when there is no such timer."""
        ...

    def node_runs(self, execution_id: str) -> Iterator[VisitRecord]:
        """Iterate over the visits of a run, in the order they were recorded."""
        ...

    def last_event(self, execution_id: str) -> int:
        """Return the number of the last event of a run; 0 when it has no event log."""
        ...

    def quarantine(self) -> list[QuarantineRecord]:
        """Return what is in quarantine, oldest first."""
        ...


class JournalTables(Protocol):
    """The tables of a journal that operators look into."""

    async def due_timers(self, limit: int) -> list[tuple[str, str, int]]:
        """Return the timers of all runs that are due first: run, timer, time."""
        ...

    async def queued(self) -> int:
        """Return how many tokens wait or are being handled."""
        ...

    async def quarantine(self) -> list[QuarantineRecord]:
        """Return what is in quarantine, oldest first."""
        ...

    async def drop_quarantine(
        self, numbers: Collection[int] | None
    ) -> list[tuple[int, QuarantineRecord]]:
        """Delete entries by their numbers (None: all), all of them or none."""
        ...
