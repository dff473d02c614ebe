"""Examples of the operations that steer runs: what is answered, and what is sent."""

from __future__ import annotations

from typing import Any

_CONTROL_AT = "2026-03-01T09:30:00.000Z"
_CONTROL_RUN = "run_5b1f0a3c9d7e4f62a8b0c1d2e3f40516"
_NEXT = "run_6c2f0a3c9d7e4f62a8b0c1d2e3f40517"
_RUNNING = {
    "execution_id": _CONTROL_RUN,
    "workflow_id": "hello",
    "definition_ref": "6a2da20943931e9834fc12cfe5bb47bb",
    "status": "running",
    "started_at": _CONTROL_AT,
    "ended_at": None,
    "duration_ms": None,
    "paused_at": None,
    "retry_of": None,
    "priority": 0,
    "deadline_at": None,
}
_FILTER = {"workflow_id": "hello", "started_after": _CONTROL_AT}


def _report(**more: Any) -> dict[str, Any]:
    refused = {
        "execution_id": _NEXT,
        "done": False,
        "code": "RUN_ENDED",
        "detail": f"run {_NEXT} has ended already: it is completed",
        "attempt": None,
    }
    one = {
        "execution_id": _CONTROL_RUN,
        "done": True,
        "code": None,
        "detail": None,
        "attempt": None,
    }
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
    "pause_run": ({**_RUNNING, "paused_at": _CONTROL_AT}, None),
    "resume_run": (_RUNNING, None),
    "retry_run": (
        {"execution_id": _NEXT, "retry_of": _CONTROL_RUN, "kept": 1977, "repeated": 12},
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


# -- Examples of the operations of signals, waits and families of runs.


_SIGNAL_AT = "2026-03-01T09:30:00.000Z"
_LATER = "2026-03-02T09:30:00.000Z"
_SIGNAL_RUN = "run_01kk2v6r8y7r5f7q0w2t9x4z3b"
_CHILD = "run_59aaf65df5db76e9ebacdc0fd63f18e3"
_SIGNAL = {
    "execution_id": _SIGNAL_RUN,
    "signal": "paid",
    "key": "",
    "signal_id": "invoice-17",
    "sent_at": _SIGNAL_AT,
    "sender": "api",
    "payload": {"amount": 120},
    "payload_carried": True,
}
_DECISION = {"by": "ada@example.com", "decision": "approve", "comment": "fine", "at": _SIGNAL_AT}
_WAIT = {
    "kind": "approval",
    "node_id": "sign_off",
    "item": "",
    "signal": None,
    "key": None,
    "execution_id": None,
    "expires_at": _LATER,
    "callback_url": None,
    "message": "Pay invoice 17?",
    "required": 2,
    "decisions": [_DECISION],
    "no_links": None,
    "links": [
        {
            "approver": "bob@example.com",
            "url": "http://127.0.0.1:8400/api/v1/approvals/WyJhcHByb3ZhbCJd.c2lnbmF0dXJl",
            "expires_at": _LATER,
        }
    ],
}
_RELATIVE = {
    "execution_id": _CHILD,
    "node_id": "ship",
    "waits": True,
    "depth": 1,
    "status": "running",
}

SIGNAL_EXAMPLES: dict[str, tuple[Any, Any]] = {
    "send_signal": (_SIGNAL, {"payload": {"amount": 120}}),
    "list_signals": ({"items": [_SIGNAL], "next_cursor": None}, None),
    "list_waits": ({"items": [_WAIT], "next_cursor": None}, None),
    "list_family": ({"parent": None, "items": [_RELATIVE], "next_cursor": None}, None),
    "show_approval": ("<!doctype html>...", None),
    "decide_approval": (_DECISION, {"decision": "approve", "comment": "fine"}),
    "call_back": ({"execution_id": _SIGNAL_RUN, "signal": "paid"}, {"amount": 120}),
}


# -- Examples of the operations that tell of many runs, of logs, and of the quarantine.


_AT = "2026-03-01T09:30:00.000Z"
_RUN = "run_01kk2v6r8y7r5f7q0w2t9x4z3b"
_EVENT = {
    "seq": 4,
    "type": "node.succeeded",
    "at": _AT,
    "node_id": "greet",
    "token_id": "4a7d1ed414474e40",
    "duration_ms": 12,
    "place": 5120,
    "execution_id": _RUN,
    "workflow_id": "hello",
}
_ASIDE = {
    "number": 1,
    "at": _AT,
    "execution_id": _RUN,
    "node_id": "greet",
    "reason": "the workflow has no node 'greet'",
    "bytes": 210,
}
_LINE = {
    "at": _AT,
    "level": "info",
    "message": "looked up 12 customers",
    "node_id": "look_up",
    "item": "regions[2]",
    "attempt": 1,
    "fields": {"customers": 12},
}

STREAM_EXAMPLES: dict[str, tuple[Any, Any]] = {
    "list_all_events": ({"items": [_EVENT], "last_place": 5120, "more": False}, None),
    "stream_all_events": (
        f'id: 5120\nevent: node.succeeded\ndata: {{"seq":4,"execution_id":"{_RUN}"}}\n\n',
        None,
    ),
    "list_logs": ({"items": [_LINE], "next_cursor": None}, None),
    "list_quarantine": ({"items": [_ASIDE], "next_cursor": None}, None),
    "get_quarantined": (
        {**_ASIDE, "message": {"workflow_id": "hello", "current_node": "greet"}, "base64": None},
        None,
    ),
    "release_messages": ({"items": [_ASIDE]}, {"numbers": [1], "force": False}),
    "discard_messages": ({"items": [_ASIDE]}, {"all": True}),
}
