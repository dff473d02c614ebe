"""The durable memory of the embedded engine: everything that must be true together, in one commit.

A batch is what some number of handled tokens did: tokens consumed and sent, timers, coordination
cells, payloads, node runs, executions. It is committed whole or not at all, so consuming a token,
its effects and its successors are one transaction, however many of them share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload, Ref
from onward.kernel.lineage import Lineage
from onward.kernel.lines import Line
from onward.kernel.messages import Token
from onward.ports.events import StoredEvent

ExecutionStatus = Literal["parked", "running", "completed", "failed", "halted", "cancelled"]


class Definition(NamedTuple):
    """A workflow definition, by content."""

    ref: str
    workflow_id: str
    source: bytes


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as the journal knows it."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    status: ExecutionStatus
    started_ms: int
    ended_ms: int | None = None
    completion: bytes | None = None
    generation: int = 0
    """How often its state was lost and rebuilt from this history."""


class NodeRun(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of one node: what it came to. Written once; (execution, token, node) names it."""

    execution_id: str
    token_id: str
    node_id: str
    status: str
    attempt: int
    at_ms: int
    duration_ms: int
    lineage: Lineage
    output: Raw | None
    output_ref: Ref | None
    error: bytes | None
    log: tuple[Line, ...] = ()
    """What the node wrote to the log; kept beside the visit, and not read with it."""


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be handled, with the reason."""

    execution_id: str
    reason: str
    body: bytes
    at_ms: int


@dataclass(slots=True)
class CellChanges:
    """What changed in one run's coordination state: groups dropped, then cells set."""

    dropped: set[str] = field(default_factory=set)
    cells: dict[str, dict[tuple[str, str], Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Batch:
    """What one commit makes true."""

    definitions: list[Definition] = field(default_factory=list)
    started: list[Execution] = field(default_factory=list)
    ended: list[Execution] = field(default_factory=list)
    sent: dict[int, Token] = field(default_factory=dict)
    consumed: list[int] = field(default_factory=list)
    timers: dict[str, tuple[int, Token]] = field(default_factory=dict)
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    """(execution, timer)."""
    cells: dict[str, CellChanges] = field(default_factory=dict)
    payloads: list[tuple[str, Payload]] = field(default_factory=list)
    node_runs: list[NodeRun] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    events: list[StoredEvent] = field(default_factory=list)


class Journal(Protocol):
    """Where batches go and what a restart finds. One process writes it at a time."""

    def commit(self, batch: Batch) -> None:
        """Make the whole batch durable before returning. Called from one thread at a time."""
        ...

    def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        ...

    def execution(self, execution_id: str) -> Execution | None:
        """Return one run."""
        ...

    def unfinished(self) -> list[Execution]:
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

    def node_runs(self, execution_id: str) -> Iterator[NodeRun]:
        """Iterate over what the nodes of a run came to, in the order it was recorded."""
        ...

    def last_event(self, execution_id: str) -> int:
        """Return the number of the last event of a run; 0 when it has no event log."""
        ...

    def quarantine(self) -> list[Quarantined]:
        """Return what is in quarantine, oldest first."""
        ...
