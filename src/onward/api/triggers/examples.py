"""Examples of the operations on triggers: what is answered, and what is sent."""

from __future__ import annotations

from onward.api.routing.examples import Example

_AT = "2026-03-01T09:30:00.000Z"
_DUE = "2026-03-02T08:00:00.000Z"
_RUN = "run_5b1f0a3c9d7e4f62a8b0c1d2e3f40516"
_CRON = {
    "kind": "cron",
    "expression": "0 9 * * 1-5",
    "time_zone": "Europe/Berlin",
    "overlap": "skip",
    "misfire": "once",
    "most_missed": 10,
    "grace_ms": 60000,
    "input": None,
}
_TRIGGER = {
    "trigger_id": "weekdays",
    "workflow_id": "hello",
    "revision": 1,
    "enabled": True,
    "settings": _CRON,
    "next_at": _DUE,
    "url": None,
    "of_document": False,
    "created_at": _AT,
    "changed_at": _AT,
}
_MADE = {**_TRIGGER, "secret": None}
_HOOK = {
    **_TRIGGER,
    "trigger_id": "orders",
    "settings": {"kind": "webhook", "path": "orders", "signature": "standard"},
    "next_at": None,
    "url": "/api/v1/hooks/orders",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
}
_FIRING = {
    "trigger_id": "weekdays",
    "key": "1772438400000",
    "cause": "schedule",
    "due_at": _DUE,
    "at": _DUE,
    "state": "started",
    "execution_id": _RUN,
    "note": "",
}
_STARTED = {"execution_id": _RUN, "status": "running"}
_SCHEDULE = {"kind": "cron", "expression": "0 9 * * 1-5", "time_zone": "Europe/Berlin"}

EXAMPLES = {
    "list_triggers": Example({"items": [_TRIGGER], "next_cursor": None}),
    "get_trigger": Example(_TRIGGER),
    "create_trigger": Example(
        _MADE, {"trigger_id": "weekdays", "workflow_id": "hello", "settings": _SCHEDULE}
    ),
    "change_trigger": Example(_MADE, {"enabled": True, "settings": _SCHEDULE}),
    "remove_trigger": Example(None),
    "enable_trigger": Example(_TRIGGER),
    "disable_trigger": Example({**_TRIGGER, "enabled": False, "next_at": None}),
    "rotate_trigger_secret": Example(_HOOK, {"keep_previous": True}),
    "preview_schedule": Example({"times": [_DUE]}, {"settings": _SCHEDULE, "count": 1}),
    "list_next_times": Example({"times": [_DUE]}),
    "fire_trigger": Example(
        {**_FIRING, "cause": "manual", "key": "manual-1"}, {"input": {"name": "Ada"}}
    ),
    "backfill_trigger": Example(
        {"times": 5, "added": 4},
        {"start_at": "2026-02-23T00:00:00Z", "end_at": "2026-02-28T00:00:00Z"},
    ),
    "list_firings": Example({"items": [_FIRING], "next_cursor": None}),
    "take_event": Example(
        {"fired": [{**_FIRING, "cause": "event", "key": "event-1"}], "listens": 1, "failed": []},
        {"amount": 120},
    ),
    **{
        f"call_hook_with_{method}": Example(_STARTED)
        for method in ("get", "post", "put", "patch", "delete")
    },
}
