"""Triggers, which start runs by themselves, and their firings.

A trigger is a value with a revision, like a workflow. A firing is a row with a key: the time it was
due, or the id of the message that caused it. The same key never fires twice, and the run's id
is derived from trigger and key, so that a start that was interrupted is simply repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Protocol

import msgspec

Kind = Literal["manual", "webhook", "cron", "interval", "event", "after", "on"]
Overlap = Literal["skip", "queue", "allow", "cancel"]
"""What a time that comes does when the run before it has not ended."""
Misfire = Literal["skip", "once", "all"]
"""What happens to times that came while no master was running."""
Cause = Literal["schedule", "backfill", "manual", "webhook", "event"]
FiringState = Literal["waiting", "starting", "started", "ended", "skipped", "refused"]
"""waiting: for the run before it. starting: a master will start it. ended: it was started, and its
run is known to have ended. skipped, refused: it never starts, and `note` says why."""


class Manual(msgspec.Struct, frozen=True, kw_only=True, tag="manual", tag_field="kind"):
    """Fires on request."""

    kind: ClassVar[Kind] = "manual"
    input: Any = None
    """What `$trigger` is when nothing is given."""


class Cron(msgspec.Struct, frozen=True, kw_only=True, tag="cron", tag_field="kind"):
    """Fires at times of a wall clock."""

    kind: ClassVar[Kind] = "cron"
    expression: str
    time_zone: str = "UTC"
    overlap: Overlap = "skip"
    misfire: Misfire = "once"
    most_missed: int = 10
    """How many missed times `all` makes up for, the latest ones."""
    grace_ms: int = 60_000
    """A time that comes later than this was missed."""
    input: Any = None
    of_document: bool = False
    """Whether the workflow's own document asks for it. Such runs get the input as it is."""


class Interval(msgspec.Struct, frozen=True, kw_only=True, tag="interval", tag_field="kind"):
    """Fires again and again, counted from when it was made."""

    kind: ClassVar[Kind] = "interval"
    every_ms: int
    overlap: Overlap = "skip"
    misfire: Misfire = "once"
    most_missed: int = 10
    grace_ms: int = 60_000
    input: Any = None
    of_document: bool = False


class After(msgspec.Struct, frozen=True, kw_only=True, tag="after", tag_field="kind"):
    """Fires a while after the run that it started last has ended. Only documents ask for it."""

    kind: ClassVar[Kind] = "after"
    delay_ms: int
    input: Any = None
    of_document: bool = True


class Webhook(msgspec.Struct, frozen=True, kw_only=True, tag="webhook", tag_field="kind"):
    """Fires when a request comes to its path."""

    kind: ClassVar[Kind] = "webhook"
    path: str
    signature: Literal["standard", "none"] = "standard"
    tolerance_ms: int = 300_000
    """How far the time of a signature may be from ours: the replay window."""
    respond: Literal["accepted", "result", "node"] = "accepted"
    node_id: str = ""
    timeout_ms: int = 10_000
    max_body_bytes: int = 1024 * 1024
    per_minute: int = 600
    """Requests that one master takes in a minute."""


class Events(msgspec.Struct, frozen=True, kw_only=True, tag="event", tag_field="kind"):
    """Fires for CloudEvents that it looks for. A pattern may end with `*`; "" is anything."""

    kind: ClassVar[Kind] = "event"
    type: str = ""
    source: str = ""
    subject: str = ""
    where: str = ""
    """A jq expression on the event; it fires unless that is false or null."""


class On(msgspec.Struct, frozen=True, kw_only=True, tag="on", tag_field="kind"):
    """Fires for CloudEvents, or for several that belong together. Only documents ask for it."""

    kind: ClassVar[Kind] = "on"
    strategy: Any
    """`schedule.on` of a document of the Serverless Workflow DSL."""
    types: tuple[str, ...] = ()
    """The types of events that it can look for; none: any."""
    loose: bool = False
    """Whether any text of it that is jq is an expression."""
    of_document: bool = True


Schedule = Cron | Interval
Settings = Manual | Cron | Interval | After | Webhook | Events | On


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """One trigger, as it is at one revision."""

    trigger_id: str
    workflow_id: str
    revision: int
    enabled: bool
    settings: Settings
    secrets: tuple[str, ...] = ()
    """Keys of signatures, sealed, the newest first. They are never shown again."""
    next_due_ms: int | None = None
    """When a schedule fires next; it advances without a new revision."""
    created_ms: int
    changed_ms: int

    @property
    def topic(self) -> str:
        """Return what it is found by: its path, or the one type of events that it looks for."""
        match self.settings:
            case Webhook(path=path):
                return path
            case Events(type=kind) if not kind.endswith("*"):
                return kind
            case On(types=(kind,)):
                return kind
            case _:
                return ""

    @property
    def owned(self) -> bool:
        """Return whether the document of its workflow made it, and changes it."""
        match self.settings:
            case Cron(of_document=owned) | Interval(of_document=owned):
                return owned
            case After() | On():
                return True
            case _:
                return False


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a trigger fired, or should have."""

    trigger_id: str
    key: str
    cause: Cause
    due_ms: int
    at_ms: int
    """When it was recorded."""
    execution_id: str
    state: FiringState = "waiting"
    overlap: Overlap = "allow"
    note: str = ""
    input: bytes | None = None
    """What `$trigger` will be, as JSON; deleted once the run has started."""


class Origin(msgspec.Struct, frozen=True):
    """Which trigger started a run. It is known for as long as the run is."""

    execution_id: str
    trigger_id: str
    kind: Kind


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What must be known to decide about the firings of a trigger that wait."""

    enabled: bool
    active: tuple[Firing, ...]
    """Those that start, or whose runs have not ended."""
    waiting: tuple[Firing, ...]
    """Those that are not decided yet, by the time they are due."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A decision about firings. One that is not mentioned keeps waiting."""

    start: tuple[Firing, ...] = ()
    skip: tuple[Firing, ...] = ()
    """With a note that says why."""
    cancel: tuple[str, ...] = ()
    """Runs that must end first."""


Decide = Callable[[Standing], Verdict]


class TriggerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which triggers to list. They come by id."""

    limit: int
    after: str = ""
    workflow_id: str = ""
    kind: str = ""


class Triggers(Protocol):
    """Stores triggers and their firings."""

    async def save(self, trigger: Trigger) -> bool:
        """Write a trigger when the one before it is there (revision 1: when there is none).

        False, and nothing is written, when it is not, or when another webhook has the path.
        """
        ...

    async def keep_secrets(self, trigger: Trigger, secrets: Sequence[str]) -> bool:
        """Replace the sealed secrets, which is no change of a trigger. False: it has changed."""
        ...

    async def remove(self, trigger_id: str, revision: int) -> bool:
        """Delete a trigger at a revision, with its firings. False: it is not there."""
        ...

    async def trigger(self, trigger_id: str) -> Trigger | None:
        """Return one trigger."""
        ...

    async def at_path(self, path: str) -> Trigger | None:
        """Return the webhook at a path."""
        ...

    async def triggers(self, query: TriggerQuery) -> list[Trigger]:
        """Return a page of triggers."""
        ...

    async def listening(self, event_type: str, *, after: str, limit: int) -> list[Trigger]:
        """Return a page of enabled triggers that may look for events of a type."""
        ...

    async def due(self, now_ms: int, limit: int) -> list[Trigger]:
        """Return schedules whose time has come, the earliest first."""
        ...

    async def next_due(self) -> int | None:
        """Return when the next schedule is due."""
        ...

    async def advance(self, trigger: Trigger, to_ms: int | None, firings: Sequence[Firing]) -> bool:
        """Advance a schedule and record its firings, in one transaction.

        False, and nothing is written, when it is no longer as it was: it was advanced or changed
        meanwhile. A firing that is there already stays as it is.
        """
        ...

    async def record(self, firing: Firing) -> Firing:
        """Record a firing, unless there is one with its key; return the one that is there."""
        ...

    async def add(self, firings: Sequence[Firing]) -> int:
        """Record firings that are not there yet; return how many those were."""
        ...

    async def unsettled(self, *, after: str, limit: int) -> list[str]:
        """Return triggers, by id, of which a firing waits."""
        ...

    async def settle(self, trigger_id: str, decide: Decide) -> Verdict:
        """Decide about the firings that wait and write that down, alone for this trigger."""
        ...

    async def starting(self, before_ms: int, limit: int) -> list[Firing]:
        """Return firings that should have started by now, recorded or decided before a moment."""
        ...

    async def mark(self, firing: Firing, state: FiringState, note: str = "") -> None:
        """Record the result of a firing that was to start, and which trigger started its run."""
        ...

    async def origins(self, execution_ids: Sequence[str]) -> list[Origin]:
        """Return which trigger started each of some runs; nothing for those that none did."""
        ...

    async def firing(self, trigger_id: str, key: str) -> Firing | None:
        """Return one firing."""
        ...

    async def firings(
        self, trigger_id: str, *, before: tuple[int, str], limit: int
    ) -> list[Firing]:
        """Return a page of firings without their inputs, newest first."""
        ...

    async def drop_firings(self, before_ms: int) -> None:
        """Delete firings that were recorded before a moment and are decided.

        Those stay whose runs may still be running and hold up the next.
        """
        ...
