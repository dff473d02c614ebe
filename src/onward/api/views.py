"""What the API takes and gives, as it is written in the OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from onward.kernel.json import decode
from onward.kernel.records import Definition
from onward.kernel.run_events import EventType

T = TypeVar("T")

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
Text = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
RunStatus = Literal["parked", "running", "completed", "failed", "halted", "cancelled"]
Document = dict[str, Any] | str


class RequestBody(BaseModel):
    """What a caller sends: nothing else is taken."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Page(BaseModel, Generic[T]):
    """A part of a list; the next one is at `next_cursor`, unless that is null."""

    items: list[T]
    next_cursor: str | None


# -- workflows -----------------------------------------------------------------------------------


class WorkflowGiven(RequestBody):
    """A workflow to create, or a version to add."""

    definition: Document = Field(description="The document: an object, or its YAML or JSON text.")
    note: Text = Field(default="", description="Why this version.")
    publish: bool | None = Field(
        default=None,
        description="Let new runs use it at once.  Default: true for the first version only.",
    )


class DefinitionGiven(RequestBody):
    """A document to look at."""

    definition: Document


class PublishGiven(RequestBody):
    """Which version new runs shall use; null: the newest."""

    version: int | None = Field(default=None, ge=1, le=2**53)


class WorkflowView(BaseModel):
    """A workflow as it is now."""

    workflow_id: str
    revision: int
    latest_version: int
    published_version: int | None
    enabled: bool
    created_at: str
    changed_at: str


class VersionView(BaseModel):
    """One version, without its document."""

    workflow_id: str
    version: int
    definition_ref: str
    created_at: str
    note: str
    published: bool


class DocumentView(BaseModel):
    """A definition in its canonical form."""

    workflow_id: str
    definition_ref: str
    definition: dict[str, Any]


class ExaminedView(BaseModel):
    """What is wrong with a document; it can run when no finding is an error."""

    valid: bool
    workflow_id: str | None
    definition_ref: str | None
    errors: list[Place]
    warnings: list[Place]


class DifferenceView(BaseModel):
    """One place at which two documents differ."""

    pointer: str
    change: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


class DiffView(BaseModel):
    """All places at which two versions differ."""

    workflow_id: str
    before: int
    after: int
    differences: list[DifferenceView]
    truncated: bool


class ExportView(BaseModel):
    """Workflows to take elsewhere, each with its published (or else its newest) version."""

    format: Literal["onward-workflows-1"] = "onward-workflows-1"
    workflows: list[dict[str, Any]]
    next_cursor: str | None


class ImportGiven(RequestBody):
    """Workflows from elsewhere."""

    format: Literal["onward-workflows-1"]
    workflows: list[dict[str, Any]] = Field(max_length=500)


class ImportedView(BaseModel):
    """What an import did."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]


# -- runs ----------------------------------------------------------------------------------------


class RunGiven(RequestBody):
    """A run to start: of a workflow by its id, or of a document that is not kept as one."""

    workflow_id: Identifier | None = None
    version: int | None = Field(default=None, ge=1, le=2**53)
    definition: Document | None = None
    input: Any = Field(default=None, description="What `$trigger` is.")
    execution_id: Identifier | None = Field(
        default=None, description="The run's id; it must be new."
    )
    priority: int = Field(default=0, ge=0, le=5, description="The higher, the sooner.")
    timeout_ms: int | None = Field(
        default=None, ge=1, le=10**12, description="How long the run may take."
    )


class CancelGiven(RequestBody):
    """Why a run is cancelled."""

    reason: Text = ""


class ErrorView(BaseModel):
    """Why a run or a visit failed."""

    message: str
    code: str
    node_id: str | None = None
    details: dict[str, Any] = {}


class OriginView(BaseModel):
    """The trigger that started a run; it may be gone by now."""

    trigger_id: str
    kind: Literal["manual", "webhook", "cron", "interval", "event", "after", "on"]


class RunView(BaseModel):
    """A run."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    status: RunStatus
    started_at: str
    ended_at: str | None
    duration_ms: int | None
    paused_at: str | None = Field(default=None, description="Since when no node begins.")
    retry_of: str | None = Field(default=None, description="The run that this one tries again.")
    priority: int = 0
    deadline_at: str | None = Field(
        default=None, description="When it fails with EXECUTION_TIMEOUT if it still goes on."
    )
    trigger: OriginView | None = Field(default=None, description="Null: no trigger started it.")


class EntryView(BaseModel):
    """One value of a run's final context; read it with `data?entry=NAME`."""

    name: str
    bytes: int


class RunDetailView(RunView):
    """A run with its ending. `output` is null when it is larger than can be carried here."""

    output: Any = None
    output_nodes: list[str] = []
    output_carried: bool = True
    error: ErrorView | None = None
    context: list[EntryView] = []
    last_event: int


class NodeView(BaseModel):
    """A node of the workflow, with what its visits came to so far."""

    node_id: str
    type: str | None
    visits: dict[str, int]
    first_at: str | None
    last_at: str | None
    busy_ms: int


class VisitView(BaseModel):
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
    error: ErrorView | None


class ItemView(BaseModel):
    """One item of a split."""

    item: str
    index: int
    total: int
    visits: int
    failed_visits: int
    last_at: str


class DataView(BaseModel):
    """A value, or the part of it that fits."""

    pointer: str
    kind: Literal["object", "array", "string", "number", "boolean", "null"]
    bytes: int = Field(description="The size of the whole value as JSON.")
    length: int | None = Field(description="Members of an object or array, characters of a text.")
    offset: int
    value: Any
    next_offset: int | None = Field(description="Where the rest begins; null: this is all.")


class EventView(BaseModel):
    """One thing that happened in a run. `seq` counts from 1, without gaps."""

    seq: int
    type: EventType
    at: str
    node_id: str | None = None
    item: str | None = None
    token_id: str | None = None
    attempt: int | None = None
    duration_ms: int | None = None
    processed: int | None = None
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    status: str | None = None
    error: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class EventsView(BaseModel):
    """Events after a number."""

    items: list[EventView]
    last_seq: int = Field(description="The number to ask after next time.")
    more: bool


class ExplanationView(BaseModel):
    """What a run waits for, or how it ended."""

    execution_id: str
    workflow_id: str
    status: str
    started_at: str
    ended_at: str | None
    summary: str
    waits: list[dict[str, Any]]
    recent: list[dict[str, Any]]


class Place(BaseModel):
    """One thing that is wrong, and where."""

    message: str
    pointer: str | None = Field(
        default=None, description="JSON pointer into the body or the document."
    )
    parameter: str | None = Field(
        default=None, description="The query parameter, header or path part."
    )
    code: str | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(
        default="about:blank", description="Always about:blank: `code` tells kinds apart."
    )
    title: str
    status: int
    detail: str
    code: str
    instance: str
    request_id: str
    errors: list[Place] = []


def document_view(definition: Definition) -> DocumentView:
    """Return a definition as the API tells it."""
    return DocumentView(
        workflow_id=definition.workflow_id,
        definition_ref=definition.ref,
        definition=decode(definition.source),
    )
