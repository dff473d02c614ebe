"""What the routes of signals, waits and families of runs take and tell."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from onward.api.views import Given, RunStatus

SignalName = Annotated[
    str, StringConstraints(pattern="^[a-zA-Z0-9_-]+$", min_length=1, max_length=64)
]
Key = Annotated[str, StringConstraints(max_length=1_000, pattern="^[^\\x00-\\x1f]*$")]
Comment = Annotated[str, StringConstraints(max_length=2_000)]


class SignalGiven(Given):
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


class DecisionGiven(Given):
    """A decision of an approver."""

    decision: Literal["approve", "reject"]
    comment: Comment = ""


class CallbackView(BaseModel):
    """A callback that was taken."""

    execution_id: str
    signal: str
