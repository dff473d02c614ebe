"""Examples of the operations of the quarantine, timers, queues, workers and health."""

from __future__ import annotations

from onward.api.routing.examples import AT, LATER, RUN, Example, page_of

_MESSAGE = {
    "number": 1,
    "at": AT,
    "execution_id": RUN,
    "node_id": "greet",
    "reason": "the workflow has no node 'greet'",
    "bytes": 210,
}

EXAMPLES = {
    "get_server": Example({"name": "onward", "version": "0.1.0", "mode": "embedded"}),
    "list_timers": Example(
        page_of({"execution_id": RUN, "timer_id": "4a7d1ed414474e40", "due_at": LATER})
    ),
    "list_queues": Example(page_of({"name": "workflow.execution", "messages": 3})),
    "list_workers": Example(
        page_of(
            {
                "name": "web-1:4711",
                "host": "web-1",
                "pid": 4711,
                "version": "0.1.0",
                "slots": 64,
                "started_at": AT,
                "seen_at": LATER,
            }
        )
    ),
    "get_stats": Example(
        {
            "since": AT,
            "runs": [{"workflow_id": "hello", "status": "completed", "runs": 12}],
            "streams": 1,
        }
    ),
    "live": Example({"status": "ok"}),
    "ready": Example({"status": "ok"}),
    "list_quarantine": Example({"items": [_MESSAGE], "next_cursor": None}),
    "get_quarantined": Example(
        {**_MESSAGE, "message": {"workflow_id": "hello", "current_node": "greet"}, "base64": None}
    ),
    "release_messages": Example({"items": [_MESSAGE]}, {"numbers": [1], "force": False}),
    "discard_messages": Example({"items": [_MESSAGE]}, {"all": True}),
}
