"""Examples of the operations of runs: parts, events, control, signals, waits and links."""

from __future__ import annotations

from typing import Any

from onward.api.routing.examples import AT, DOCUMENT, LATER, REF, RUN, Example, page_of

_STARTED = {
    "execution_id": RUN,
    "workflow_id": "hello",
    "definition_ref": REF,
    "status": "running",
    "started_at": AT,
    "ended_at": None,
    "duration_ms": None,
    "paused_at": None,
    "retry_of": None,
    "priority": 0,
    "deadline_at": None,
    "trigger": None,
}
_ENDED = {**_STARTED, "status": "completed", "ended_at": LATER, "duration_ms": 2125}
_EVENT = {
    "seq": 4,
    "type": "node.succeeded",
    "at": LATER,
    "node_id": "greet",
    "token_id": "4a7d1ed414474e40",
    "duration_ms": 12,
}
_PLACED_EVENT = {
    "seq": 4,
    "type": "node.succeeded",
    "at": AT,
    "node_id": "greet",
    "token_id": "4a7d1ed414474e40",
    "duration_ms": 12,
    "place": 5120,
    "execution_id": RUN,
    "workflow_id": "hello",
}
_LINE = {
    "at": AT,
    "level": "info",
    "message": "looked up 12 customers",
    "node_id": "look_up",
    "item": "regions[2]",
    "attempt": 1,
    "fields": {"customers": 12},
}
_CONTROL_RUN = "run_5b1f0a3c9d7e4f62a8b0c1d2e3f40516"
_NEXT_RUN = "run_6c2f0a3c9d7e4f62a8b0c1d2e3f40517"
_RUNNING = {
    "execution_id": _CONTROL_RUN,
    "workflow_id": "hello",
    "definition_ref": "6a2da20943931e9834fc12cfe5bb47bb",
    "status": "running",
    "started_at": AT,
    "ended_at": None,
    "duration_ms": None,
    "paused_at": None,
    "retry_of": None,
    "priority": 0,
    "deadline_at": None,
}
_FILTER = {"workflow_id": "hello", "started_after": AT}
_EXPIRY = "2026-03-02T09:30:00.000Z"
_CHILD = "run_59aaf65df5db76e9ebacdc0fd63f18e3"
_SIGNAL = {
    "execution_id": RUN,
    "signal": "paid",
    "key": "",
    "signal_id": "invoice-17",
    "sent_at": AT,
    "sender": "api",
    "payload": {"amount": 120},
    "payload_carried": True,
}
_DECISION = {"by": "ada@example.com", "decision": "approve", "comment": "fine", "at": AT}
_WAIT = {
    "kind": "approval",
    "node_id": "sign_off",
    "item": "",
    "signal": None,
    "key": None,
    "execution_id": None,
    "expires_at": _EXPIRY,
    "callback_url": None,
    "message": "Pay invoice 17?",
    "required": 2,
    "decisions": [_DECISION],
    "no_links": None,
    "links": [
        {
            "approver": "bob@example.com",
            "url": "http://127.0.0.1:8400/api/v1/approvals/WyJhcHByb3ZhbCJd.c2lnbmF0dXJl",
            "expires_at": _EXPIRY,
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


def _bulk(**more: Any) -> dict[str, Any]:
    refused = {
        "execution_id": _NEXT_RUN,
        "done": False,
        "code": "RUN_ENDED",
        "detail": f"run {_NEXT_RUN} has ended already: it is completed",
        "attempt": None,
    }
    done = {
        "execution_id": _CONTROL_RUN,
        "done": True,
        "code": None,
        "detail": None,
        "attempt": None,
    }
    return {"items": [{**done, **more}, refused], "done": 1, "refused": 1, "more": False}


EXAMPLES = {
    "start_run": Example(_STARTED, {"workflow_id": "hello", "input": {"name": "Ada"}}),
    "cancel_run": Example({**_ENDED, "status": "cancelled"}, {"reason": "the order was withdrawn"}),
    "list_runs": Example(page_of(_ENDED)),
    "get_run": Example(
        {
            **_ENDED,
            "output": {"text": "Hello, Ada"},
            "output_nodes": ["greet"],
            "output_carried": True,
            "error": None,
            "context": [{"name": "$greet", "bytes": 21}],
            "last_event": 6,
        }
    ),
    "get_run_definition": Example(DOCUMENT),
    "list_nodes": Example(
        page_of(
            {
                "node_id": "greet",
                "type": "transform",
                "visits": {"success": 1},
                "first_at": AT,
                "last_at": LATER,
                "busy_ms": 12,
            }
        )
    ),
    "explain_run": Example(
        {
            "execution_id": RUN,
            "workflow_id": "hello",
            "status": "running",
            "started_at": AT,
            "ended_at": None,
            "summary": "it waits for a time to come",
            "waits": [{"kind": "timer", "text": f"pause waits until {LATER}", "node": "pause"}],
            "recent": [],
        }
    ),
    "list_context": Example(page_of({"name": "$greet", "bytes": 21})),
    "list_visits": Example(
        page_of(
            {
                "token_id": "4a7d1ed414474e40",
                "node_id": "greet",
                "status": "success",
                "attempt": 1,
                "item": "",
                "at": LATER,
                "duration_ms": 12,
                "output_bytes": 21,
                "output_ref": None,
                "error": None,
            }
        )
    ),
    "list_items": Example(
        page_of(
            {
                "item": "users[5]",
                "index": 5,
                "total": 10,
                "visits": 2,
                "failed_visits": 0,
                "last_at": LATER,
            }
        )
    ),
    "list_events": Example({"items": [_EVENT], "last_seq": 4, "more": False}),
    "stream_events": Example(
        'id: 4\nevent: node.succeeded\ndata: {"seq":4,"type":"node.succeeded"}\n\n'
    ),
    "get_data": Example(
        {
            "pointer": "/text",
            "kind": "string",
            "bytes": 12,
            "length": 10,
            "offset": 0,
            "value": "Hello, Ada",
            "next_offset": None,
        }
    ),
    "list_all_events": Example({"items": [_PLACED_EVENT], "last_place": 5120, "more": False}),
    "stream_all_events": Example(
        f'id: 5120\nevent: node.succeeded\ndata: {{"seq":4,"execution_id":"{RUN}"}}\n\n'
    ),
    "list_logs": Example({"items": [_LINE], "next_cursor": None}),
    "pause_run": Example({**_RUNNING, "paused_at": AT}),
    "resume_run": Example(_RUNNING),
    "retry_run": Example(
        {"execution_id": _NEXT_RUN, "retry_of": _CONTROL_RUN, "kept": 1977, "repeated": 12},
        {"split": "each", "latest": True},
    ),
    "adjust_split": Example(
        {"split": "each", "changed": 1}, {"max_concurrency": 5, "tolerated_failures": 20}
    ),
    "cancel_runs": Example(_bulk(), {"filter": _FILTER, "reason": "the import was wrong"}),
    "pause_runs": Example(_bulk(), {"filter": {"workflow_id": "hello"}}),
    "resume_runs": Example(_bulk(), {"filter": {"workflow_id": "hello"}}),
    "retry_runs": Example(_bulk(attempt=_NEXT_RUN), {"filter": _FILTER, "latest": True}),
    "send_signal": Example(_SIGNAL, {"payload": {"amount": 120}}),
    "list_signals": Example({"items": [_SIGNAL], "next_cursor": None}),
    "list_waits": Example({"items": [_WAIT], "next_cursor": None}),
    "list_family": Example({"parent": None, "items": [_RELATIVE], "next_cursor": None}),
    "show_approval": Example("<!doctype html>..."),
    "decide_approval": Example(_DECISION, {"decision": "approve", "comment": "fine"}),
    "call_back": Example({"execution_id": RUN, "signal": "paid"}, {"amount": 120}),
}
