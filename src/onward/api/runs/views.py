"""What the API takes and gives to steer runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from onward.api.views import Identifier, RequestBody, RunStatus, Text


class RetryGiven(RequestBody):
    """What of a run to try again. Without anything: what failed, and what follows from it."""

    from_nodes: list[str] = Field(
        default=[], max_length=100, description="Execute these again too, and what follows."
    )
    item: str | None = Field(
        default=None,
        max_length=4096,
        description="Of `from_nodes` only inside this item: `users[5]`.",
    )
    split: str | None = Field(
        default=None,
        max_length=1024,
        description="Of items that failed only those of this split.",
    )
    everything: bool = Field(default=False, description="Keep nothing.")
    latest: bool = Field(
        default=False, description="With the version that the workflow has published now."
    )
    input: Any = Field(default=None, description="With this input instead; null: the same again.")
    execution_id: Identifier | None = Field(
        default=None, description="The new run's id; it must be new."
    )


class AttemptView(BaseModel):
    """A new attempt at a run."""

    execution_id: str
    retry_of: str
    kept: int = Field(description="Visits of nodes whose outcome stands.")
    repeated: int = Field(description="Visits that were chosen to be executed again.")


class AdjustGiven(RequestBody):
    """What to change about a split that still waits for items; what is left out stays."""

    max_concurrency: int | None = Field(default=None, ge=1, le=1_000_000)
    tolerated_failures: int | None = Field(default=None, ge=0, le=1_000_000_000)
    any_failures: bool = Field(default=False, description="Any number of items may fail.")
    item: str | None = Field(
        default=None, max_length=4096, description="Only inside this item of an outer split."
    )


class AdjustedView(BaseModel):
    """How many runs of the split were changed."""

    split: str
    changed: int


class RunFilter(RequestBody):
    """Which runs: all that match everything given."""

    execution_ids: list[Identifier] = Field(default=[], max_length=1000)
    workflow_id: Identifier | None = None
    status: list[RunStatus] = Field(default=[], max_length=10)
    q: str = Field(default="", max_length=128, description="A part of the run's id.")
    started_after: str | None = Field(default=None, description="RFC 3339.")
    started_before: str | None = Field(default=None, description="RFC 3339.")


class BulkGiven(RequestBody):
    """Runs to do the same to, newest first, up to a number of them."""

    filter: RunFilter
    limit: int = Field(default=100, ge=1, le=1000)


class BulkCancelGiven(BulkGiven):
    """Runs to cancel."""

    reason: Text = ""


class BulkRetryGiven(BulkGiven):
    """Runs to try again: what failed of each."""

    latest: bool = Field(default=False, description="With what each workflow has published now.")


class DoneView(BaseModel):
    """What was done to one run, or why it was not."""

    execution_id: str
    done: bool
    code: str | None = None
    detail: str | None = None
    attempt: str | None = Field(default=None, description="The new run, of a retry.")


class BulkView(BaseModel):
    """What was done to each run."""

    items: list[DoneView]
    done: int
    refused: int
    more: bool = Field(description="More runs match: ask again.")


# -- What the routes of signals, waits and families of runs take and tell.


SignalName = Annotated[
    str, StringConstraints(pattern="^[a-zA-Z0-9_-]+$", min_length=1, max_length=64)
]
Key = Annotated[str, StringConstraints(max_length=1_000, pattern="^[^\\x00-\\x1f]*$")]
Comment = Annotated[str, StringConstraints(max_length=2_000)]


class SignalGiven(RequestBody):
    """What a signal brings, and which of the waits for its name it is for."""

    payload: Any = Field(default=None, description="The output of the node that waits.")
    key: Key = Field(
        default="",
        description="The key of the wait; inside a split the item, such as `users[5]`.",
    )


class SignalView(BaseModel):
    """A signal that was sent."""

    execution_id: str
    signal: str
    key: str
    signal_id: str = Field(description="The same id is the same signal.")
    sent_at: str
    sender: str
    payload: Any = None
    payload_carried: bool = Field(default=True, description="False: it is too large to be here.")


class LinkView(BaseModel):
    """A signed link of one approver."""

    approver: str
    url: str
    expires_at: str


class DecisionView(BaseModel):
    """What one approver has decided."""

    by: str
    decision: Literal["approve", "reject"]
    comment: str
    at: str


class WaitView(BaseModel):
    """A wait for something from outside the run."""

    kind: Literal["signal", "approval", "run", "event"]
    node_id: str
    item: str
    signal: str | None = None
    key: str | None = None
    execution_id: str | None = Field(default=None, description="The run that is waited for.")
    expires_at: str | None = None
    callback_url: str | None = Field(
        default=None, description="A webhook that resumes the wait with the body it gets, once."
    )
    message: str | None = None
    required: int | None = None
    decisions: list[DecisionView] = []
    links: list[LinkView] = []
    no_links: str | None = Field(default=None, description="Why there can be no links.")


class RelativeView(BaseModel):
    """A run that started another, or was started by it."""

    execution_id: str
    node_id: str = Field(description="The node of the parent that started the child.")
    waits: bool = Field(description="Whether the parent waits for what becomes of the child.")
    depth: int = Field(description="How many runs are above the child.")
    status: RunStatus | None


class FamilyView(BaseModel):
    """The run that started a run, and the runs that it started."""

    parent: RelativeView | None
    items: list[RelativeView]
    next_cursor: str | None


class DecisionGiven(RequestBody):
    """A decision of an approver."""

    decision: Literal["approve", "reject"]
    comment: Comment = ""


class CallbackView(BaseModel):
    """A callback that was taken."""

    execution_id: str
    signal: str
