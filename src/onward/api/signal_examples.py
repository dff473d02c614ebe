"""Examples of the operations of signals, waits and families of runs."""

from __future__ import annotations

from typing import Any

_AT = "2026-03-01T09:30:00.000Z"
_LATER = "2026-03-02T09:30:00.000Z"
_RUN = "run_01kk2v6r8y7r5f7q0w2t9x4z3b"
_CHILD = "run_59aaf65df5db76e9ebacdc0fd63f18e3"
_SIGNAL = {
    "execution_id": _RUN,
    "signal": "paid",
    "key": "",
    "signal_id": "invoice-17",
    "sent_at": _AT,
    "sender": "api",
    "payload": {"amount": 120},
    "payload_carried": True,
}
_DECISION = {"by": "ada@example.com", "decision": "approve", "comment": "fine", "at": _AT}
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
    "call_back": ({"execution_id": _RUN, "signal": "paid"}, {"amount": 120}),
}
