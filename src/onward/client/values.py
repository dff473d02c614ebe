"""What the API answers, as a client reads it. Fields that a newer server adds are ignored."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from onward.client.errors import ProblemPlace

T = TypeVar("T")


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list."""

    items: list[T]
    next_cursor: str | None = None


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow as it is now; `revision` grows with every change."""

    workflow_id: str
    revision: int
    latest_version: int
    published_version: int | None
    enabled: bool
    created_at: str
    changed_at: str


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a workflow."""

    workflow_id: str
    version: int
    definition_ref: str
    created_at: str
    note: str
    published: bool


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a document."""

    valid: bool
    workflow_id: str | None
    definition_ref: str | None
    errors: list[ProblemPlace]
    warnings: list[ProblemPlace]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place at which two versions differ."""

    pointer: str
    change: str
    before: Any = None
    after: Any = None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did, by workflow."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run; what is about its ending comes with `Run.info` only."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    status: str
    started_at: str
    ended_at: str | None
    duration_ms: int | None
    trigger: dict[str, str] | None = None
    """`trigger_id` and `kind` of the trigger that started it."""
    output: Any = None
    output_nodes: list[str] = []
    output_carried: bool = True
    error: dict[str, Any] | None = None
    last_event: int = 0
    paused_at: str | None = None
    retry_of: str | None = None
    priority: int = 0
    deadline_at: str | None = None


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a workflow, with the number of its visits by outcome."""

    node_id: str
    type: str | None
    visits: dict[str, int]
    first_at: str | None
    last_at: str | None
    busy_ms: int


class VisitInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of one node: one attempt, for one item."""

    token_id: str
    node_id: str
    status: str
    attempt: int
    item: str
    at: str
    duration_ms: int
    output_bytes: int | None
    output_ref: str | None
    error: dict[str, Any] | None


class ItemInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a split."""

    item: str
    index: int
    total: int
    visits: int
    failed_visits: int
    last_at: str


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that a node wrote."""

    at: str
    level: str
    message: str
    node_id: str
    item: str = ""
    attempt: int = 1
    fields: dict[str, Any] = {}


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """A value, or the part of it that fits into one answer."""

    pointer: str
    kind: str
    bytes: int
    length: int | None
    offset: int
    value: Any
    next_offset: int | None


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened in a run; `seq` counts from 1 without gaps."""

    seq: int
    type: str
    at: str
    execution_id: str = ""
    workflow_id: str = ""
    node_id: str = ""
    item: str = ""
    token_id: str = ""
    attempt: int = 1
    duration_ms: int | None = None
    processed: int | None = None
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    status: str = ""
    error: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    cursor: str = ""
    """Where a stream of several runs continues after this event."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a run waits for, or how it ended."""

    execution_id: str
    workflow_id: str
    status: str
    started_at: str
    ended_at: str | None
    summary: str
    waits: list[dict[str, Any]]
    recent: list[dict[str, Any]]
