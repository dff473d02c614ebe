"""What the API takes and gives of runs: their parts, their events, control, signals and waits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from onward.api.views import Document, Identifier, RequestBody, RunStatus, Text, View
from onward.kernel.run_events import EventType

SignalName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]+\Z", min_length=1, max_length=64)]
Key = Annotated[str, Meta(max_length=1_000, pattern=r"^[^\x00-\x1f]*\Z")]
Comment = Annotated[str, Meta(max_length=2_000)]

# -- a run and its parts -------------------------------------------------------------------------


class RunGiven(RequestBody, kw_only=True):
    """A run to start: of a workflow by its id, or of a document that is not kept as one."""

    workflow_id: Identifier | None = None
    version: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    definition: Document | None = None
    input: Annotated[Any, Meta(description="What `$trigger` is.")] = None
    execution_id: Annotated[
        Identifier | None, Meta(description="The run's id; it must be new.")
    ] = None
    priority: Annotated[int, Meta(ge=0, le=5, description="The higher, the sooner.")] = 0
    timeout_ms: Annotated[
        Annotated[int, Meta(ge=1, le=10**12)] | None, Meta(description="How long the run may take.")
    ] = None


class CancelGiven(RequestBody, kw_only=True):
    """Why a run is cancelled."""

    reason: Text = ""


class ErrorView(View, kw_only=True):
    """Why a run or a visit failed."""

    message: str
    code: str
    node_id: str | None = None
    details: dict[str, Any] = msgspec.field(default_factory=dict)


class OriginView(View, kw_only=True):
    """The trigger that started a run; it may be gone by now."""

    trigger_id: str
    kind: Literal["manual", "webhook", "cron", "interval", "event", "after", "on"]


class RunView(View, kw_only=True):
    """A run."""

    execution_id: str
    workflow_id: str
    definition_ref: str
    status: RunStatus
    started_at: str
    ended_at: str | None
    duration_ms: int | None
    paused_at: Annotated[str | None, Meta(description="Since when no node begins.")] = None
    retry_of: Annotated[str | None, Meta(description="The run that this one tries again.")] = None
    priority: int = 0
    deadline_at: Annotated[
        str | None, Meta(description="When it fails with EXECUTION_TIMEOUT if it still goes on.")
    ] = None
    trigger: Annotated[OriginView | None, Meta(description="Null: no trigger started it.")] = None


class EntryView(View, kw_only=True):
    """One value of a run's final context; read it with `data?entry=NAME`."""

    name: str
    bytes: int


class RunDetailView(RunView, kw_only=True):
    """A run with its ending. `output` is null when it is larger than can be carried here."""

    output: Any = None
    output_nodes: list[str] = msgspec.field(default_factory=list)
    output_carried: bool = True
    error: ErrorView | None = None
    context: list[EntryView] = msgspec.field(default_factory=list)
    last_event: int


class NodeView(View, kw_only=True):
    """A node of the workflow, with what its visits came to so far."""

    node_id: str
    type: str | None
    visits: dict[str, int]
    first_at: str | None
    last_at: str | None
    busy_ms: int


class VisitView(View, kw_only=True):
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


class ItemView(View, kw_only=True):
    """One item of a split."""

    item: str
    index: int
    total: int
    visits: int
    failed_visits: int
    last_at: str


class DataView(View, kw_only=True):
    """A value, or the part of it that fits."""

    pointer: str
    kind: Literal["object", "array", "string", "number", "boolean", "null"]
    bytes: Annotated[int, Meta(description="The size of the whole value as JSON.")]
    length: Annotated[
        int | None, Meta(description="Members of an object or array, characters of a text.")
    ]
    offset: int
    value: Any
    next_offset: Annotated[
        int | None, Meta(description="Where the rest begins; null: this is all.")
    ]


class LineView(View, kw_only=True):
    """A line that a node wrote."""

    at: str
    level: str
    message: str
    node_id: str
    item: str
    attempt: int
    fields: dict[str, Any]


class ExplanationView(View, kw_only=True):
    """What a run waits for, or how it ended."""

    execution_id: str
    workflow_id: str
    status: str
    started_at: str
    ended_at: str | None
    summary: str
    waits: list[dict[str, Any]]
    recent: list[dict[str, Any]]


# -- events --------------------------------------------------------------------------------------


class EventView(View, kw_only=True):
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


class EventsView(View, kw_only=True):
    """Events after a number."""

    items: list[EventView]
    last_seq: Annotated[int, Meta(description="The number to ask after next time.")]
    more: bool


class PlacedEventView(EventView, kw_only=True):
    """An event with its run, and its place among the events of all runs."""

    place: int
    execution_id: str
    workflow_id: str


class PlacedEventsView(View, kw_only=True):
    """Events of many runs after a place."""

    items: list[PlacedEventView]
    last_place: Annotated[int, Meta(description="The place to ask after next time.")]
    more: bool


# -- control -------------------------------------------------------------------------------------


class RetryGiven(RequestBody, kw_only=True):
    """What of a run to try again. Without anything: what failed, and what follows from it."""

    from_nodes: Annotated[
        list[str], Meta(max_length=100, description="Execute these again too, and what follows.")
    ] = msgspec.field(default_factory=list)
    item: Annotated[
        Annotated[str, Meta(max_length=4096)] | None,
        Meta(description="Of `from_nodes` only inside this item: `users[5]`."),
    ] = None
    split: Annotated[
        Annotated[str, Meta(max_length=1024)] | None,
        Meta(description="Of items that failed only those of this split."),
    ] = None
    everything: Annotated[bool, Meta(description="Keep nothing.")] = False
    latest: Annotated[
        bool, Meta(description="With the version that the workflow has published now.")
    ] = False
    input: Annotated[Any, Meta(description="With this input instead; null: the same again.")] = None
    execution_id: Annotated[
        Identifier | None, Meta(description="The new run's id; it must be new.")
    ] = None


class AttemptView(View, kw_only=True):
    """A new attempt at a run."""

    execution_id: str
    retry_of: str
    kept: Annotated[int, Meta(description="Visits of nodes whose outcome stands.")]
    repeated: Annotated[int, Meta(description="Visits that were chosen to be executed again.")]


class AdjustGiven(RequestBody, kw_only=True):
    """What to change about a split that still waits for items; what is left out stays."""

    max_concurrency: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    tolerated_failures: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    any_failures: Annotated[bool, Meta(description="Any number of items may fail.")] = False
    item: Annotated[
        Annotated[str, Meta(max_length=4096)] | None,
        Meta(description="Only inside this item of an outer split."),
    ] = None


class AdjustedView(View, kw_only=True):
    """How many runs of the split were changed."""

    split: str
    changed: int


class RunFilter(RequestBody, kw_only=True):
    """Which runs: all that match everything given."""

    execution_ids: Annotated[list[Identifier], Meta(max_length=1000)] = msgspec.field(
        default_factory=list
    )
    workflow_id: Identifier | None = None
    status: Annotated[list[RunStatus], Meta(max_length=10)] = msgspec.field(default_factory=list)
    q: Annotated[str, Meta(max_length=128, description="A part of the run's id.")] = ""
    started_after: Annotated[str | None, Meta(description="RFC 3339.")] = None
    started_before: Annotated[str | None, Meta(description="RFC 3339.")] = None


class BulkGiven(RequestBody, kw_only=True):
    """Runs to do the same to, newest first, up to a number of them."""

    filter: RunFilter
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class BulkCancelGiven(BulkGiven, kw_only=True):
    """Runs to cancel."""

    reason: Text = ""


class BulkRetryGiven(BulkGiven, kw_only=True):
    """Runs to try again: what failed of each."""

    latest: Annotated[bool, Meta(description="With what each workflow has published now.")] = False


class DoneView(View, kw_only=True):
    """What was done to one run, or why it was not."""

    execution_id: str
    done: bool
    code: str | None = None
    detail: str | None = None
    attempt: Annotated[str | None, Meta(description="The new run, of a retry.")] = None


class BulkView(View, kw_only=True):
    """What was done to each run."""

    items: list[DoneView]
    done: int
    refused: int
    more: Annotated[bool, Meta(description="More runs match: ask again.")]


# -- signals, waits and child runs ---------------------------------------------------------------


class SignalGiven(RequestBody, kw_only=True):
    """What a signal brings, and which of the waits for its name it is for."""

    payload: Annotated[Any, Meta(description="The output of the node that waits.")] = None
    key: Annotated[
        Key, Meta(description="The key of the wait; inside a split the item, such as `users[5]`.")
    ] = ""


class SignalView(View, kw_only=True):
    """A signal that was sent."""

    execution_id: str
    signal: str
    key: str
    signal_id: Annotated[str, Meta(description="The same id is the same signal.")]
    sent_at: str
    sender: str
    payload: Any = None
    payload_carried: Annotated[bool, Meta(description="False: it is too large to be here.")] = True


class LinkView(View, kw_only=True):
    """A signed link of one approver."""

    approver: str
    url: str
    expires_at: str


class DecisionView(View, kw_only=True):
    """What one approver has decided."""

    by: str
    decision: Literal["approve", "reject"]
    comment: str
    at: str


class WaitView(View, kw_only=True):
    """A wait for something from outside the run."""

    kind: Literal["signal", "approval", "run", "event"]
    node_id: str
    item: str
    signal: str | None = None
    key: str | None = None
    execution_id: Annotated[str | None, Meta(description="The run that is waited for.")] = None
    expires_at: str | None = None
    callback_url: Annotated[
        str | None, Meta(description="A webhook that resumes the wait with the body it gets, once.")
    ] = None
    message: str | None = None
    required: int | None = None
    decisions: list[DecisionView] = msgspec.field(default_factory=list)
    links: list[LinkView] = msgspec.field(default_factory=list)
    no_links: Annotated[str | None, Meta(description="Why there can be no links.")] = None


class RelativeView(View, kw_only=True):
    """A run that started another, or was started by it."""

    execution_id: str
    node_id: Annotated[str, Meta(description="The node of the parent that started the child.")]
    waits: Annotated[
        bool, Meta(description="Whether the parent waits for what becomes of the child.")
    ]
    depth: Annotated[int, Meta(description="How many runs are above the child.")]
    status: RunStatus | None


class FamilyView(View, kw_only=True):
    """The run that started a run, and the runs that it started."""

    parent: RelativeView | None
    items: list[RelativeView]
    next_cursor: str | None


class DecisionGiven(RequestBody, kw_only=True):
    """A decision of an approver."""

    decision: Literal["approve", "reject"]
    comment: Comment = ""


class CallbackView(View, kw_only=True):
    """A callback that was taken."""

    execution_id: str
    signal: str
