"""Firings as values: one for each time of a schedule or each message, and the id of its run."""

from __future__ import annotations

from typing import Any

from onward.errors import StateConflictError
from onward.kernel.ids import derive
from onward.kernel.json import encode
from onward.kernel.timestamps import to_iso
from onward.ports.storage.triggers import Cause, Cron, Firing, Interval, Overlap, Schedule, Trigger


def schedule_of(trigger: Trigger) -> Schedule:
    """Return the schedule of a trigger that must have one."""
    if isinstance(trigger.settings, Cron | Interval):
        return trigger.settings
    raise StateConflictError(
        f"trigger {trigger.trigger_id} has no schedule: it is of kind {trigger.settings.kind}",
        "NO_SCHEDULE",
    )


def scheduled(
    trigger: Trigger,
    due_ms: int,
    now_ms: int,
    *,
    cause: Cause = "schedule",
    overlap: Overlap | None = None,
) -> Firing:
    """Return the firing for a time of a schedule: one for each time, whatever causes it."""
    schedule = schedule_of(trigger)
    given = schedule.input if trigger.owned else given_of(trigger, cause, due_ms, schedule.input)
    return firing_of(
        trigger, cause, str(due_ms), due_ms, now_ms, given, overlap=overlap or schedule.overlap
    )


def given_of(trigger: Trigger, cause: Cause, due_ms: int, given: Any) -> dict[str, Any]:
    """Return what `$trigger` is in the run of a schedule that no document asked for."""
    return {
        "trigger_id": trigger.trigger_id,
        "kind": trigger.settings.kind,
        "cause": cause,
        "due_at": to_iso(due_ms),
        "input": given,
    }


def firing_of(
    trigger: Trigger,
    cause: Cause,
    key: str,
    due_ms: int,
    now_ms: int,
    given: Any,
    *,
    overlap: Overlap,
    start: bool = False,
) -> Firing:
    """Return a firing, with the id of its run; MessageError for data that is not JSON."""
    return Firing(
        trigger_id=trigger.trigger_id,
        key=key,
        cause=cause,
        due_ms=due_ms,
        at_ms=now_ms,
        execution_id=f"run_{derive('trigger', trigger.trigger_id, trigger.created_ms, key)}",
        state="starting" if start else "waiting",
        overlap=overlap,
        input=bytes(encode(given)),
    )
