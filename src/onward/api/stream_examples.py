"""Examples of the operations that tell of many runs, of logs, and of the quarantine."""

from __future__ import annotations

from typing import Any

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
