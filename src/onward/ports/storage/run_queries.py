"""Queries about runs, in pages: `RunQueries` for a server, `History` for a file without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import msgspec

from onward.kernel.context import Ref
from onward.kernel.lineage import Lineage
from onward.kernel.messages import branch_id
from onward.kernel.records import Definition, QuarantineRecord, RunRecord, VisitRecord
from onward.kernel.run_events import RunEvent


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list. They come newest first."""

    limit: int
    workflow_id: str = ""
    statuses: tuple[str, ...] = ()
    containing: str = ""
    """A part of the run's id."""
    trigger_id: str = ""
    """The trigger that started it."""
    from_ms: int = 0
    until_ms: int = 2**62
    before: tuple[int, str] = (2**62, "")
    """The start and the id of the last run of the page before."""


class VisitQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which visits of a run to list. They come in the order they were recorded."""

    execution_id: str
    limit: int
    after: int = 0
    """The place of the last visit of the page before."""
    node_id: str = ""
    status: str = ""
    within: tuple[tuple[str, int], ...] = ()
    """(split, index) of items that it must be inside of."""


class PlacedVisit(NamedTuple):
    """A visit and its place in the order of recording."""

    place: int
    run: VisitRecord


class NodeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """How many visits of one node have a status, and when they were."""

    node_id: str
    status: str
    visits: int
    first_ms: int
    last_ms: int
    busy_ms: int


class ItemTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The visits inside one item, and how many failed."""

    place: int
    lineage: Lineage
    visits: int
    failed: int
    last_ms: int


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events of all runs to read. They come in the order in which they were written."""

    workflow_id: str = ""
    runs: tuple[str, ...] = ()


class PlacedEvent(NamedTuple):
    """An event, its run, and its place among the events of all runs."""

    place: int
    execution_id: str
    workflow_id: str
    event: RunEvent


class PlacedEventPage(NamedTuple):
    """Events after a place, and the place up to which there are no others."""

    events: list[PlacedEvent]
    upto: int


class StoredLines(NamedTuple):
    """The lines that one visit wrote, and their place in the order of recording."""

    place: int
    node_id: str
    attempt: int
    lineage: Lineage
    lines: bytes
    """JSON, as `kernel.log_lines` writes it."""


class StartKey(NamedTuple):
    """Which run an idempotency key stands for, and what was asked with it."""

    execution_id: str
    fingerprint: str


class RunQueries(Protocol):
    """Reads runs and their history. Every method returns one page or one record."""

    async def run(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        ...

    async def runs(self, query: RunQuery) -> list[RunRecord]:
        """Return a page of runs, without their completions."""
        ...

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    async def visits(self, query: VisitQuery) -> list[PlacedVisit]:
        """Return a page of visits."""
        ...

    async def totals(self, execution_id: str) -> list[NodeTotals]:
        """Return totals of the visits of a run, a line for each node and status."""
        ...

    async def items(
        self, execution_id: str, split: str, *, after: int, limit: int
    ) -> list[ItemTotals]:
        """Return items that a visit was recorded for, inside any run of a split node."""
        ...

    async def output(self, execution_id: str, token_id: str, node_id: str) -> VisitRecord | None:
        """Return one visit."""
        ...

    async def payload(self, execution_id: str, content: str) -> bytes | None:
        """Return a stored payload by its hash."""
        ...

    async def events(self, execution_id: str, *, after: int, limit: int) -> list[RunEvent]:
        """Return the events of a run with numbers above `after`, in order."""
        ...

    async def last_event(self, execution_id: str) -> int:
        """Return the number of the last event of a run; 0 when it has no event log."""
        ...

    async def all_events(self, query: EventQuery, *, after: int, limit: int) -> PlacedEventPage:
        """Return events of all runs after a place, in the order in which they were written."""
        ...

    async def last_place(self) -> int:
        """Return the place of the last event of all."""
        ...

    async def lines(
        self, execution_id: str, *, node_id: str, after: int, limit: int
    ) -> list[StoredLines]:
        """Return the log lines of visits after a place; `node_id` "" is any node."""
        ...

    async def counts(self, since_ms: int) -> Mapping[tuple[str, str], int]:
        """Return how many runs that started since have each (workflow, status)."""
        ...

    async def claim_key(self, key: str, wanted: StartKey, at_ms: int) -> StartKey:
        """Store what a key stands for, unless it is known; return what it stands for."""
        ...

    async def drop_keys(self, before_ms: int) -> None:
        """Delete keys that were claimed before a moment."""
        ...


def newest(parked: Iterable[RunRecord], begun: Iterable[RunRecord], limit: int) -> list[RunRecord]:
    """Return a page of runs, newest first. One that began after the parked were read is in both."""
    runs = {run.execution_id: run for run in (*parked, *begun)}.values()
    return sorted(runs, key=lambda run: (run.started_ms, run.execution_id), reverse=True)[:limit]


def inside_item(execution_id: str, split: str, index: int) -> bytes:
    """Return what the stored lineage of everything inside an item contains."""
    return b'"branch_id":' + msgspec.json.encode(branch_id(execution_id, split, index))


def inside_split(split: str) -> bytes:
    """Return what the stored lineage of everything inside a split contains."""
    return b'"split_node_id":' + msgspec.json.encode(split)


# -- a file without a server -----------------------------------------------------------------------


class History(Protocol):
    """A read-only view of the journal, which never waits for the engine that writes it."""

    def executions(self) -> list[RunRecord]:
        """Return every run, newest first."""
        ...

    def execution(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        ...

    def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    def node_runs(self, execution_id: str) -> Iterator[VisitRecord]:
        """Iterate over the visits of a run, in the order they were recorded."""
        ...

    def quarantine(self) -> list[QuarantineRecord]:
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

    def payload(self, execution_id: str, ref: Ref) -> bytes:
        """Return a stored payload; StorageError when there is none."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
