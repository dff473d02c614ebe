"""An example for every operation, by its name: what is sent, and what is answered."""

from __future__ import annotations

from typing import Any, NamedTuple

from onward.api.runs.examples import CONTROL_EXAMPLES, SIGNAL_EXAMPLES, STREAM_EXAMPLES
from onward.api.security.examples import ACCESS_EXAMPLES
from onward.api.triggers.examples import TRIGGER_EXAMPLES


class Example(NamedTuple):
    """One exchange."""

    answer: Any
    given: Any = None


_AT = "2026-03-01T09:30:00.000Z"
_LATER = "2026-03-01T09:30:02.125Z"
_RUN = "run_01kk2v6r8y7r5f7q0w2t9x4z3b"
_REF = "6a2da20943931e9834fc12cfe5bb47bb"
_DEFINITION = {
    "id": "hello",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {
            "id": "greet",
            "type": "transform",
            "parameters": {"expression": '{text: ("Hello, " + $trigger.name)}'},
        },
    ],
    "edges": [{"id": "e1", "src": "start", "dst": "greet"}],
}
_WORKFLOW = {
    "workflow_id": "hello",
    "revision": 3,
    "latest_version": 2,
    "published_version": 2,
    "enabled": True,
    "created_at": _AT,
    "changed_at": _LATER,
}
_VERSION = {
    "workflow_id": "hello",
    "version": 2,
    "definition_ref": _REF,
    "created_at": _LATER,
    "note": "a warmer greeting",
    "published": True,
}
_DOCUMENT = {"workflow_id": "hello", "definition_ref": _REF, "definition": _DEFINITION}
_STARTED = {
    "execution_id": _RUN,
    "workflow_id": "hello",
    "definition_ref": _REF,
    "status": "running",
    "started_at": _AT,
    "ended_at": None,
    "duration_ms": None,
    "paused_at": None,
    "retry_of": None,
    "priority": 0,
    "deadline_at": None,
    "trigger": None,
}
_ENDED = {**_STARTED, "status": "completed", "ended_at": _LATER, "duration_ms": 2125}
_EVENT = {
    "seq": 4,
    "type": "node.succeeded",
    "at": _LATER,
    "node_id": "greet",
    "token_id": "4a7d1ed414474e40",
    "duration_ms": 12,
}
_NODE_TYPE = {
    "type": "noop",
    "summary": "Do nothing; the output is the input.",
    "description": "Do nothing; the output is the input.",
    "effect": "control",
    "credential": False,
    "expressions": [],
    "parameters": {"type": "object", "properties": {}},
}


def _page(*items: Any) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": None}


EXAMPLES = {
    "list_workflows": Example(_page(_WORKFLOW)),
    "get_workflow": Example(_WORKFLOW),
    "validate_definition": Example(
        {
            "valid": True,
            "workflow_id": "hello",
            "definition_ref": _REF,
            "errors": [],
            "warnings": [],
        },
        {"definition": _DEFINITION},
    ),
    "list_versions": Example(_page(_VERSION)),
    "get_version": Example(_DOCUMENT),
    "diff_versions": Example(
        {
            "workflow_id": "hello",
            "before": 1,
            "after": 2,
            "differences": [
                {
                    "pointer": "/nodes/greet/parameters/expression",
                    "change": "changed",
                    "before": "$trigger.name",
                    "after": '{text: ("Hello, " + $trigger.name)}',
                }
            ],
            "truncated": False,
        }
    ),
    "create_workflow": Example(
        {**_WORKFLOW, "revision": 1, "latest_version": 1, "published_version": 1},
        {"definition": _DEFINITION, "note": "the first one"},
    ),
    "add_version": Example(_WORKFLOW, {"definition": _DEFINITION, "note": "a warmer greeting"}),
    "publish_version": Example(_WORKFLOW, {"version": 2}),
    "roll_back": Example({**_WORKFLOW, "published_version": 1}),
    "enable_workflow": Example(_WORKFLOW),
    "disable_workflow": Example({**_WORKFLOW, "enabled": False}),
    "export_workflows": Example(
        {"format": "onward-workflows-1", "workflows": [_DEFINITION], "next_cursor": None}
    ),
    "import_workflows": Example(
        {"created": ["hello"], "changed": [], "unchanged": []},
        {"format": "onward-workflows-1", "workflows": [_DEFINITION]},
    ),
    "start_run": Example(_STARTED, {"workflow_id": "hello", "input": {"name": "Ada"}}),
    "cancel_run": Example({**_ENDED, "status": "cancelled"}, {"reason": "the order was withdrawn"}),
    "list_runs": Example(_page(_ENDED)),
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
    "get_run_definition": Example(_DOCUMENT),
    "list_nodes": Example(
        _page(
            {
                "node_id": "greet",
                "type": "transform",
                "visits": {"success": 1},
                "first_at": _AT,
                "last_at": _LATER,
                "busy_ms": 12,
            }
        )
    ),
    "explain_run": Example(
        {
            "execution_id": _RUN,
            "workflow_id": "hello",
            "status": "running",
            "started_at": _AT,
            "ended_at": None,
            "summary": "it waits for a time to come",
            "waits": [{"kind": "timer", "text": f"pause waits until {_LATER}", "node": "pause"}],
            "recent": [],
        }
    ),
    "list_context": Example(_page({"name": "$greet", "bytes": 21})),
    "list_visits": Example(
        _page(
            {
                "token_id": "4a7d1ed414474e40",
                "node_id": "greet",
                "status": "success",
                "attempt": 1,
                "item": "",
                "at": _LATER,
                "duration_ms": 12,
                "output_bytes": 21,
                "output_ref": None,
                "error": None,
            }
        )
    ),
    "list_items": Example(
        _page(
            {
                "item": "users[5]",
                "index": 5,
                "total": 10,
                "visits": 2,
                "failed_visits": 0,
                "last_at": _LATER,
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
    "list_node_types": Example(_page(_NODE_TYPE)),
    "get_node_type": Example(_NODE_TYPE),
    "evaluate_expression": Example(
        {"value": "Hello, Ada", "names": ["trigger"]},
        {"template": "Hello, {{ $trigger.name }}", "variables": {"trigger": {"name": "Ada"}}},
    ),
    "get_server": Example({"name": "onward", "version": "0.1.0", "mode": "embedded"}),
    "list_timers": Example(
        _page({"execution_id": _RUN, "timer_id": "4a7d1ed414474e40", "due_at": _LATER})
    ),
    "list_queues": Example(_page({"name": "workflow.execution", "messages": 3})),
    "list_workers": Example(
        _page(
            {
                "name": "web-1:4711",
                "host": "web-1",
                "pid": 4711,
                "version": "0.1.0",
                "slots": 64,
                "started_at": _AT,
                "seen_at": _LATER,
            }
        )
    ),
    "get_stats": Example(
        {
            "since": _AT,
            "runs": [{"workflow_id": "hello", "status": "completed", "runs": 12}],
            "streams": 1,
        }
    ),
    "live": Example({"status": "ok"}),
    "ready": Example({"status": "ok"}),
    **{name: Example(*exchange) for name, exchange in ACCESS_EXAMPLES.items()},
    **{name: Example(*exchange) for name, exchange in CONTROL_EXAMPLES.items()},
    **{name: Example(*exchange) for name, exchange in SIGNAL_EXAMPLES.items()},
    **{name: Example(*exchange) for name, exchange in STREAM_EXAMPLES.items()},
    **{name: Example(*exchange) for name, exchange in TRIGGER_EXAMPLES.items()},
}
