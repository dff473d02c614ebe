"""The records of a store: definitions, runs, visits and quarantined messages."""

from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw

from onward.kernel.context import Ref
from onward.kernel.lineage import Lineage
from onward.kernel.log_lines import LogLineRecord

RunStatus = Literal["parked", "running", "completed", "failed", "halted", "cancelled"]


class Definition(NamedTuple):
    """A workflow definition, by content."""

    ref: str
    workflow_id: str
    source: bytes


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as the history has it."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    status: RunStatus
    started_ms: int
    ended_ms: int | None = None
    completion: bytes | None = None
    generation: int = 0
    """How often its state was lost and rebuilt from the history."""


class VisitKey(NamedTuple):
    """The key of a visit in the history."""

    execution_id: str
    token_id: str
    node_id: str


class VisitRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of one node and its result. Written once, under its key."""

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
    log: tuple[LogLineRecord, ...] = ()
    """What the node wrote to the log; stored beside the visit, and not read with it."""

    @property
    def key(self) -> VisitKey:
        """Return the key of the visit."""
        return VisitKey(self.execution_id, self.token_id, self.node_id)


class QuarantineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be handled, with the reason."""

    execution_id: str
    reason: str
    body: bytes
    at_ms: int
