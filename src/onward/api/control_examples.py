"""Examples of the operations that steer runs: what is answered, and what is sent."""

from __future__ import annotations

from typing import Any

_AT = "2026-03-01T09:30:00.000Z"
_RUN = "run_5b1f0a3c9d7e4f62a8b0c1d2e3f40516"
_NEXT = "run_6c2f0a3c9d7e4f62a8b0c1d2e3f40517"
_RUNNING = {
    "execution_id": _RUN,
    "workflow_id": "hello",
    "definition_ref": "6a2da20943931e9834fc12cfe5bb47bb",
    "status": "running",
    "started_at": _AT,
    "ended_at": None,
    "duration_ms": None,
    "paused_at": None,
    "retry_of": None,
    "priority": 0,
    "deadline_at": None,
}
_FILTER = {"workflow_id": "hello", "started_after": _AT}


def _report(**more: Any) -> dict[str, Any]:
    refused = {
        "execution_id": _NEXT,
        "done": False,
        "code": "RUN_ENDED",
        "detail": f"run {_NEXT} has ended already: it is completed",
        "attempt": None,
    }
    one = {"execution_id": _RUN, "done": True, "code": None, "detail": None, "attempt": None}
    return {"items": [{**one, **more}, refused], "done": 1, "refused": 1, "more": False}


_RULE = {
    "key": "$trigger.customer",
    "concurrency": 3,
    "rate": 10,
    "per_ms": 60000,
    "singleton": False,
    "debounce_ms": None,
}

CONTROL_EXAMPLES: dict[str, tuple[Any, Any]] = {
    "get_flow": ({"workflow_id": "hello", **_RULE}, None),
    "set_flow": ({"workflow_id": "hello", **_RULE}, _RULE),
    "drop_flow": (None, None),
    "pause_run": ({**_RUNNING, "paused_at": _AT}, None),
    "resume_run": (_RUNNING, None),
    "retry_run": (
        {"execution_id": _NEXT, "retry_of": _RUN, "kept": 1977, "repeated": 12},
        {"split": "each", "latest": True},
    ),
    "adjust_split": (
        {"split": "each", "changed": 1},
        {"max_concurrency": 5, "tolerated_failures": 20},
    ),
    "cancel_runs": (_report(), {"filter": _FILTER, "reason": "the import was wrong"}),
    "pause_runs": (_report(), {"filter": {"workflow_id": "hello"}}),
    "resume_runs": (_report(), {"filter": {"workflow_id": "hello"}}),
    "retry_runs": (_report(attempt=_NEXT), {"filter": _FILTER, "latest": True}),
}
