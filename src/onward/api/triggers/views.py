"""What the routes of triggers take and give, as it is written in the OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from onward.api.views import Identifier, RequestBody

Pattern = Annotated[str, StringConstraints(max_length=1024, pattern=r"^[^\x00]*$")]
HookPath = Annotated[str, StringConstraints(pattern=r"^([a-zA-Z0-9_-]{1,128})?$")]
Overlap = Literal["skip", "queue", "allow", "cancel"]
DAY_MS = 24 * 60 * 60 * 1000


class ManualSettings(RequestBody):
    """Fires when somebody says so."""

    kind: Literal["manual"]
    input: Any = Field(default=None, description="What `$trigger` is when nothing is given.")


class _Scheduled(RequestBody):
    overlap: Overlap = Field(
        default="skip",
        description="What a time does that comes while the run before it goes on: it is skipped,"
        " waits for its end, starts beside it, or cancels it.",
    )
    misfire: Literal["skip", "once", "all"] = Field(
        default="once",
        description="Times that came while no master could fire: none is made up for, the last,"
        " or all up to `most_missed`.",
    )
    most_missed: int = Field(default=10, ge=1, le=1000)
    grace_ms: int = Field(
        default=60_000, ge=0, le=DAY_MS, description="What is later than this was missed."
    )
    input: Any = Field(default=None, description="`$trigger.input` in the runs.")


class CronSettings(_Scheduled):
    """Fires at times of a wall clock."""

    kind: Literal["cron"]
    expression: Annotated[str, StringConstraints(max_length=200)] = Field(
        description="Five fields: minute, hour, day, month, weekday; or @daily and the like."
    )
    time_zone: Annotated[str, StringConstraints(max_length=64)] = Field(
        default="UTC", description="An IANA name, such as Europe/Berlin."
    )


class IntervalSettings(_Scheduled):
    """Fires again and again, counted from when it was made."""

    kind: Literal["interval"]
    every_ms: int = Field(ge=1_000, le=366 * DAY_MS)


class WebhookSettings(RequestBody):
    """Fires when a request of any method comes to its path."""

    kind: Literal["webhook"]
    path: HookPath = Field(
        default="", description="Below /api/v1/hooks/.  Default: one that nobody can guess."
    )
    signature: Literal["standard", "none"] = Field(
        default="standard", description="Standard Webhooks; none needs a path nobody can guess."
    )
    tolerance_ms: int = Field(
        default=300_000, ge=1_000, le=3_600_000, description="The replay window of signatures."
    )
    respond: Literal["accepted", "result", "node"] = Field(
        default="accepted",
        description="Answer 202 at once, with the run's output, or with that of `node_id`.",
    )
    node_id: Annotated[str, StringConstraints(max_length=1024)] = ""
    timeout_ms: int = Field(
        default=10_000, ge=100, le=60_000, description="After this the answer is 202 after all."
    )
    max_body_bytes: int = Field(default=1024 * 1024, ge=0, le=10 * 1024 * 1024)
    per_minute: int = Field(
        default=600, ge=1, le=100_000, description="Requests that one master takes in a minute."
    )


class EventSettings(RequestBody):
    """Fires for CloudEvents that it looks for; a pattern may end with `*`, "" is anything."""

    kind: Literal["event"]
    type: Pattern = ""
    source: Pattern = ""
    subject: Pattern = ""
    where: Pattern = Field(
        default="", description="A jq expression on the event: `.data.amount > 100`."
    )


AnySettings = Annotated[
    ManualSettings | CronSettings | IntervalSettings | WebhookSettings | EventSettings,
    Field(discriminator="kind"),
]
AnySchedule = Annotated[CronSettings | IntervalSettings, Field(discriminator="kind")]


class TriggerGiven(RequestBody):
    """A trigger to create."""

    trigger_id: Identifier | None = Field(default=None, description="Default: one is made.")
    workflow_id: Identifier
    enabled: bool = True
    settings: AnySettings
    secret: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="Of a webhook: `whsec_` and base64.  Default: one is made."
    )


class TriggerChangeGiven(RequestBody):
    """What a trigger shall be from now on."""

    enabled: bool = True
    settings: AnySettings


class RotateGiven(RequestBody):
    """How to give a webhook a new secret."""

    keep_previous: bool = Field(
        default=False, description="Let the secret before pass too, until the next rotation."
    )


class FireGiven(RequestBody):
    """What to fire with."""

    input: Any = Field(default=None, description="Default: the input of the trigger.")


class PreviewGiven(RequestBody):
    """A schedule to look at."""

    settings: AnySchedule
    count: int = Field(default=5, ge=1, le=100)
    after: str | None = Field(default=None, description="RFC 3339.  Default: now.")


class BackfillGiven(RequestBody):
    """Which times to make up for: from one to another, both included."""

    start_at: str = Field(description="RFC 3339.")
    end_at: str = Field(description="RFC 3339; not in the future.")
    overlap: Literal["queue", "allow"] = Field(
        default="queue", description="One run after the other, or all at once."
    )


class TriggerView(BaseModel):
    """A trigger as it is now."""

    trigger_id: str
    workflow_id: str
    revision: int
    enabled: bool
    settings: dict[str, Any]
    next_at: str | None
    url: str | None = Field(description="Where a webhook is called, below the server's address.")
    of_document: bool = Field(
        description="The workflow's own document asks for it: it follows what is published."
    )
    created_at: str
    changed_at: str


class TriggerMadeView(TriggerView):
    """A trigger, and its new secret: it is told this once."""

    secret: str | None


class TimesView(BaseModel):
    """Times at which a schedule is due."""

    times: list[str]


class FiringView(BaseModel):
    """One time that a trigger fired, or should have."""

    trigger_id: str
    key: str
    cause: Literal["schedule", "backfill", "manual", "webhook", "event"]
    due_at: str
    at: str
    state: Literal["waiting", "starting", "started", "skipped", "refused"]
    execution_id: str | None = Field(description="The run; null: there is none.")
    note: str


class BackfillView(BaseModel):
    """What came of a backfill."""

    times: int
    added: int = Field(description="The others had fired already.")


class HookView(BaseModel):
    """The run that a request started."""

    execution_id: str
    status: str


class EventTakenView(BaseModel):
    """Who was waiting for an event."""

    fired: list[FiringView]
    listens: int = Field(description="Listens of runs that it is for: each has it once.")
    failed: list[str] = Field(description="Triggers whose condition failed on it, and why.")
