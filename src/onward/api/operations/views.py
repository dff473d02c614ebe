"""What the API tells of node types, expressions, and the machinery behind runs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from onward.api.views import Identifier, RequestBody


class NodeTypeView(BaseModel):
    """A node type; `parameters` is the JSON Schema of what it takes."""

    type: str
    summary: str
    description: str
    effect: str
    credential: bool
    expressions: list[str] = Field(description="Parameters that are jq themselves.")
    parameters: dict[str, Any]


class EvaluateGiven(RequestBody):
    """An expression, or any value with expressions in it, and the data to evaluate it on."""

    template: Any = Field(
        description="Text with `$references` or `{{ jq }}`, or any JSON with such text."
    )
    input: Any = Field(default=None, description="What `.` and `$input` are.")
    variables: dict[str, Any] = Field(
        default={}, description="What `$name` is, by name without the `$`."
    )
    execution_id: Identifier | None = Field(
        default=None, description="A run whose data the variables are; `variables` come on top."
    )


class EvaluatedView(BaseModel):
    """What a template came to, and which names it reads."""

    value: Any
    names: list[str]


class QuarantinedView(BaseModel):
    """A message that could not be handled."""

    number: int
    at: str
    execution_id: str
    node_id: str
    reason: str
    bytes: int


class WholeQuarantinedView(QuarantinedView):
    """A message that could not be handled, and what it says."""

    message: Any = Field(default=None, description="What it says, when that is JSON.")
    base64: str | None = Field(
        default=None, description="Otherwise its bytes; of a message that is too large, the first."
    )


class TimerView(BaseModel):
    """A timer that is set."""

    execution_id: str
    timer_id: str
    due_at: str


class QueueView(BaseModel):
    """A queue, and how much waits in it; null when it cannot be counted."""

    name: str
    messages: int | None


class WorkerView(BaseModel):
    """A process that executes nodes."""

    name: str
    host: str
    pid: int
    version: str
    slots: int
    started_at: str
    seen_at: str


class CountView(BaseModel):
    """How many runs of a workflow have a status."""

    workflow_id: str
    status: str
    runs: int


class StatsView(BaseModel):
    """Runs that started since a moment, counted."""

    since: str
    runs: list[CountView]
    streams: int = Field(description="Open live streams of this process.")


class ServerView(BaseModel):
    """What answers here."""

    name: Literal["onward"]
    version: str
    mode: str


class WellView(BaseModel):
    """All is well."""

    status: Literal["ok"]
