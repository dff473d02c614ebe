"""What the routes of triggers take and give, as it is written in the OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from onward.api.views import Identifier, RequestBody, View

Pattern = Annotated[str, Meta(max_length=1024, pattern=r"^[^\x00]*\Z")]
HookPath = Annotated[str, Meta(pattern=r"^([a-zA-Z0-9_-]{1,128})?\Z")]
Overlap = Literal["skip", "queue", "allow", "cancel"]
DAY_MS = 24 * 60 * 60 * 1000


class ManualSettings(RequestBody, kw_only=True, tag_field="kind", tag="manual"):
    """Fires when somebody says so."""

    input: Annotated[Any, Meta(description="What `$trigger` is when nothing is given.")] = None


class _Scheduled(RequestBody, kw_only=True):
    overlap: Annotated[
        Overlap,
        Meta(
            description="What a time does that comes while the run before it goes on:"
            " it is skipped, waits for its end, starts beside it, or cancels it."
        ),
    ] = "skip"
    misfire: Annotated[
        Literal["skip", "once", "all"],
        Meta(
            description="Times that came while no master could fire: none is made up for, the last,"
            " or all up to `most_missed`."
        ),
    ] = "once"
    most_missed: Annotated[int, Meta(ge=1, le=1000)] = 10
    grace_ms: Annotated[
        int, Meta(ge=0, le=DAY_MS, description="What is later than this was missed.")
    ] = 60_000
    input: Annotated[Any, Meta(description="`$trigger.input` in the runs.")] = None


class CronSettings(_Scheduled, kw_only=True, tag_field="kind", tag="cron"):
    """Fires at times of a wall clock."""

    expression: Annotated[
        str,
        Meta(
            max_length=200,
            description="Five fields: minute, hour, day, month, weekday; or @daily and the like.",
        ),
    ]
    time_zone: Annotated[
        str, Meta(max_length=64, description="An IANA name, such as Europe/Berlin.")
    ] = "UTC"


class IntervalSettings(_Scheduled, kw_only=True, tag_field="kind", tag="interval"):
    """Fires again and again, counted from when it was made."""

    every_ms: Annotated[int, Meta(ge=1_000, le=366 * DAY_MS)]


class WebhookSettings(RequestBody, kw_only=True, tag_field="kind", tag="webhook"):
    """Fires when a request of any method comes to its path."""

    path: Annotated[
        HookPath, Meta(description="Below /api/v1/hooks/.  Default: one that nobody can guess.")
    ] = ""
    signature: Annotated[
        Literal["standard", "none"],
        Meta(description="Standard Webhooks; none needs a path nobody can guess."),
    ] = "standard"
    tolerance_ms: Annotated[
        int, Meta(ge=1_000, le=3_600_000, description="The replay window of signatures.")
    ] = 300_000
    respond: Annotated[
        Literal["accepted", "result", "node"],
        Meta(description="Answer 202 at once, with the run's output, or with that of `node_id`."),
    ] = "accepted"
    node_id: Annotated[str, Meta(max_length=1024)] = ""
    timeout_ms: Annotated[
        int, Meta(ge=100, le=60_000, description="After this the answer is 202 after all.")
    ] = 10_000
    max_body_bytes: Annotated[int, Meta(ge=0, le=10 * 1024 * 1024)] = 1024 * 1024
    per_minute: Annotated[
        int, Meta(ge=1, le=100_000, description="Requests that one master takes in a minute.")
    ] = 600


class EventSettings(RequestBody, kw_only=True, tag_field="kind", tag="event"):
    """Fires for CloudEvents that it looks for; a pattern may end with `*`, "" is anything."""

    type: Pattern = ""
    source: Pattern = ""
    subject: Pattern = ""
    where: Annotated[
        Pattern, Meta(description="A jq expression on the event: `.data.amount > 100`.")
    ] = ""


AnySettings = ManualSettings | CronSettings | IntervalSettings | WebhookSettings | EventSettings
AnySchedule = CronSettings | IntervalSettings


class TriggerGiven(RequestBody, kw_only=True):
    """A trigger to create."""

    trigger_id: Annotated[Identifier | None, Meta(description="Default: one is made.")] = None
    workflow_id: Identifier
    enabled: bool = True
    settings: AnySettings
    secret: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="Of a webhook: `whsec_` and base64.  Default: one is made."),
    ] = None


class TriggerChangeGiven(RequestBody, kw_only=True):
    """What a trigger shall be from now on."""

    enabled: bool = True
    settings: AnySettings


class RotateGiven(RequestBody, kw_only=True):
    """How to give a webhook a new secret."""

    keep_previous: Annotated[
        bool, Meta(description="Let the secret before pass too, until the next rotation.")
    ] = False


class FireGiven(RequestBody, kw_only=True):
    """What to fire with."""

    input: Annotated[Any, Meta(description="Default: the input of the trigger.")] = None


class PreviewGiven(RequestBody, kw_only=True):
    """A schedule to look at."""

    settings: AnySchedule
    count: Annotated[int, Meta(ge=1, le=100)] = 5
    after: Annotated[str | None, Meta(description="RFC 3339.  Default: now.")] = None


class BackfillGiven(RequestBody, kw_only=True):
    """Which times to make up for: from one to another, both included."""

    start_at: Annotated[str, Meta(description="RFC 3339.")]
    end_at: Annotated[str, Meta(description="RFC 3339; not in the future.")]
    overlap: Annotated[
        Literal["queue", "allow"], Meta(description="One run after the other, or all at once.")
    ] = "queue"


class TriggerView(View, kw_only=True):
    """A trigger as it is now."""

    trigger_id: str
    workflow_id: str
    revision: int
    enabled: bool
    settings: dict[str, Any]
    next_at: str | None
    url: Annotated[
        str | None, Meta(description="Where a webhook is called, below the server's address.")
    ]
    of_document: Annotated[
        bool,
        Meta(description="The workflow's own document asks for it: it follows what is published."),
    ]
    created_at: str
    changed_at: str


class TriggerMadeView(TriggerView, kw_only=True):
    """A trigger, and its new secret: it is told this once."""

    secret: str | None


class TimesView(View, kw_only=True):
    """Times at which a schedule is due."""

    times: list[str]


class FiringView(View, kw_only=True):
    """One time that a trigger fired, or should have."""

    trigger_id: str
    key: str
    cause: Literal["schedule", "backfill", "manual", "webhook", "event"]
    due_at: str
    at: str
    state: Literal["waiting", "starting", "started", "skipped", "refused"]
    execution_id: Annotated[str | None, Meta(description="The run; null: there is none.")]
    note: str


class BackfillView(View, kw_only=True):
    """What came of a backfill."""

    times: int
    added: Annotated[int, Meta(description="The others had fired already.")]


class HookView(View, kw_only=True):
    """The run that a request started."""

    execution_id: str
    status: str


class EventTakenView(View, kw_only=True):
    """Who was waiting for an event."""

    fired: list[FiringView]
    listens: Annotated[int, Meta(description="Listens of runs that it is for: each has it once.")]
    failed: Annotated[
        list[str], Meta(description="Triggers whose condition failed on it, and why.")
    ]
