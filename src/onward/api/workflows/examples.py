"""Examples of the operations of workflows, start rules, node types and expressions."""

from __future__ import annotations

from onward.api.routing.examples import AT, DEFINITION, DOCUMENT, LATER, REF, Example, page_of

_WORKFLOW = {
    "workflow_id": "hello",
    "revision": 3,
    "latest_version": 2,
    "published_version": 2,
    "enabled": True,
    "created_at": AT,
    "changed_at": LATER,
}
_VERSION = {
    "workflow_id": "hello",
    "version": 2,
    "definition_ref": REF,
    "created_at": LATER,
    "note": "a warmer greeting",
    "published": True,
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
_START_RULE = {
    "key": "$trigger.customer",
    "concurrency": 3,
    "rate": 10,
    "per_ms": 60000,
    "singleton": False,
    "debounce_ms": None,
}

EXAMPLES = {
    "list_workflows": Example(page_of(_WORKFLOW)),
    "get_workflow": Example(_WORKFLOW),
    "validate_definition": Example(
        {
            "valid": True,
            "workflow_id": "hello",
            "definition_ref": REF,
            "errors": [],
            "warnings": [],
        },
        {"definition": DEFINITION},
    ),
    "list_versions": Example(page_of(_VERSION)),
    "get_version": Example(DOCUMENT),
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
        {"definition": DEFINITION, "note": "the first one"},
    ),
    "add_version": Example(_WORKFLOW, {"definition": DEFINITION, "note": "a warmer greeting"}),
    "publish_version": Example(_WORKFLOW, {"version": 2}),
    "roll_back": Example({**_WORKFLOW, "published_version": 1}),
    "enable_workflow": Example(_WORKFLOW),
    "disable_workflow": Example({**_WORKFLOW, "enabled": False}),
    "export_workflows": Example(
        {"format": "onward-workflows-1", "workflows": [DEFINITION], "next_cursor": None}
    ),
    "import_workflows": Example(
        {"created": ["hello"], "changed": [], "unchanged": []},
        {"format": "onward-workflows-1", "workflows": [DEFINITION]},
    ),
    "list_node_types": Example(page_of(_NODE_TYPE)),
    "get_node_type": Example(_NODE_TYPE),
    "evaluate_expression": Example(
        {"value": "Hello, Ada", "names": ["trigger"]},
        {"template": "Hello, {{ $trigger.name }}", "variables": {"trigger": {"name": "Ada"}}},
    ),
    "get_flow": Example({"workflow_id": "hello", **_START_RULE}),
    "set_flow": Example({"workflow_id": "hello", **_START_RULE}, _START_RULE),
    "drop_flow": Example(None),
}
