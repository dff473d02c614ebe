"""What examples of several resources have in common: one workflow, one run, two moments."""

from __future__ import annotations

from typing import Any, NamedTuple


class Example(NamedTuple):
    """One call of an operation: what it answers, and the body it is sent."""

    answer: Any
    given: Any = None


def page_of(*items: Any) -> dict[str, Any]:
    """Return a list that has only one page."""
    return {"items": list(items), "next_cursor": None}


AT = "2026-03-01T09:30:00.000Z"
LATER = "2026-03-01T09:30:02.125Z"
RUN = "run_01kk2v6r8y7r5f7q0w2t9x4z3b"
REF = "6a2da20943931e9834fc12cfe5bb47bb"
DEFINITION = {
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
DOCUMENT = {"workflow_id": "hello", "definition_ref": REF, "definition": DEFINITION}
