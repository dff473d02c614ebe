"""What the API takes and gives of operations: the quarantine, timers, queues, workers, health."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from onward.api.views import RequestBody, View

LARGEST_NUMBER = 2**53
Numbers = Annotated[list[Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]], Meta(max_length=10_000)]

# -- the quarantine ------------------------------------------------------------------------------


class QuarantinedView(View, kw_only=True):
    """A message that could not be handled."""

    number: int
    at: str
    execution_id: str
    node_id: str
    reason: str
    bytes: int


class WholeQuarantinedView(QuarantinedView, kw_only=True):
    """A message that could not be handled, and what it says."""

    message: Annotated[Any, Meta(description="What it says, when that is JSON.")] = None
    base64: Annotated[
        str | None,
        Meta(description="Otherwise its bytes; of a message that is too large, the first."),
    ] = None


class ChosenGiven(RequestBody, kw_only=True):
    """Which messages: some by their numbers in the list, or all of them."""

    numbers: Numbers = msgspec.field(default_factory=list)
    all: bool = False


class ReleaseGiven(ChosenGiven, kw_only=True):
    """Messages to send once more."""

    force: Annotated[bool, Meta(description="Also messages of runs that have ended.")] = False


class DecidedView(View, kw_only=True):
    """The messages that something was done about; they are no longer in quarantine."""

    items: list[QuarantinedView]


# -- timers, queues, workers, numbers, health ----------------------------------------------------


class TimerView(View, kw_only=True):
    """A timer that is set."""

    execution_id: str
    timer_id: str
    due_at: str


class QueueView(View, kw_only=True):
    """A queue, and how much waits in it; null when it cannot be counted."""

    name: str
    messages: int | None


class WorkerView(View, kw_only=True):
    """A process that executes nodes."""

    name: str
    host: str
    pid: int
    version: str
    slots: int
    started_at: str
    seen_at: str


class CountView(View, kw_only=True):
    """How many runs of a workflow have a status."""

    workflow_id: str
    status: str
    runs: int


class StatsView(View, kw_only=True):
    """Runs that started since a moment, counted."""

    since: str
    runs: list[CountView]
    streams: Annotated[int, Meta(description="Open live streams of this process.")]


class ServerView(View, kw_only=True):
    """What answers here."""

    name: Literal["onward"]
    version: str
    mode: str


class WellView(View, kw_only=True):
    """All is well."""

    status: Literal["ok"]
