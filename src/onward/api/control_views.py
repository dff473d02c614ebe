"""What the API takes and gives to steer runs."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from onward.api.views import Given, Identifier, RunStatus, Text


class RetryGiven(Given):
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


class AdjustGiven(Given):
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


class RunFilter(Given):
    """Which runs: all that match everything given."""

    execution_ids: list[Identifier] = Field(default=[], max_length=1000)
    workflow_id: Identifier | None = None
    status: list[RunStatus] = Field(default=[], max_length=10)
    q: str = Field(default="", max_length=128, description="A part of the run's id.")
    started_after: str | None = Field(default=None, description="RFC 3339.")
    started_before: str | None = Field(default=None, description="RFC 3339.")


class BulkGiven(Given):
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
