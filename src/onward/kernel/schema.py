"""What the published JSON Schemas say beyond the types: limits, formats, and what a field means.

A field has one meaning whichever message it is in, so the tables are by name alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

_IDENTIFIER = {"pattern": "^[a-zA-Z0-9_-]+$", "maxLength": 128}
_NODE = {"pattern": "^([a-zA-Z0-9_-]{1,128}|/.*)$", "maxLength": 1024}
_ENTRIES = {"propertyNames": {"pattern": "^\\$"}}
_MOMENT = {"format": "date-time"}

FIELD_LIMITS: dict[str, dict[str, Any]] = {
    "workflow_id": _IDENTIFIER,
    "execution_id": _IDENTIFIER,
    "current_node": _NODE,
    "node_id": _NODE,
    "accumulated_context": _ENTRIES,
    "final_context": _ENTRIES,
    "lineage_stack": {"maxItems": 64},
    "siblings": {"minimum": 1},
    "attempt": {"minimum": 1},
    "span": {"prefixItems": [{"type": "integer", "minimum": 0}] * 3},
    "executed_at": _MOMENT,
    "completed_at": _MOMENT,
    "duration_ms": {"minimum": 0},
    "total_duration_ms": {"minimum": 0},
    "schema_version": {"minimum": 1},
}

FIELD_MEANINGS = {
    "workflow_id": "The workflow definition.",
    "execution_id": "The run.",
    "current_node": "The node to execute: its id, or the JSON pointer of a task.",
    "node_id": "The node this is about.",
    "accumulated_context": "What every node before this one put out, by `$<node id>`.",
    "workflow_definition": "The definition itself. May be left out when definition_ref names it.",
    "from_node": "The node this message comes from.",
    "lineage_stack": "The split items this node runs in, outermost first.",
    "token_id": "The name of this step of the run: the same however often it is sent.",
    "publish_id": "The name of this copy: tells a redelivery from a duplicate.",
    "parent": "The step this one follows.",
    "outcome": "Which outcome of the parent this one follows.",
    "siblings": "How many steps follow from that outcome of the parent.",
    "from_edge": "The edge this message came along.",
    "definition_ref": "The content address of the definition.",
    "context_refs": "Context entries that are stored: where each of them is.",
    "context_base": "A stored context that this one adds to.",
    "attempt": "Which try of the node this is, from 1.",
    "visit": "Of a second or later attempt: the token_id of the first.",
    "started_at": "When the run started, in epoch milliseconds.",
    "signal": "Why a message that is not an ordinary arrival was sent.",
    "awaits": "The address at which a signal and a wait for it meet.",
    "sent_at": "When the message was made, in epoch milliseconds: the node's notion of now.",
    "items_ref": "Of a split: the stored array its items come from.",
    "span": "Of a split that is still sending: next item, end of what may be sent, total.",
    "trouble": "How often handling the message failed for reasons outside its node.",
    "traceparent": "W3C Trace Context.",
    "priority": "Higher is sooner.",
    "root": "Of a run that tries another again: the first attempt, whose token ids it has too.",
    "generation": "How often the run's state was rebuilt before this message was made.",
    "schema_version": "The version of the message. Absent: it says only what every version reads.",
    "status": "What happened.",
    "output": "What the node put out, any JSON value. Null unless the status is success.",
    "error": "Why it failed. Null unless it did.",
    "executed_at": "When this was noted, RFC 3339 in UTC.",
    "duration_ms": "How long the node took.",
    "output_ref": "Where the output is when it is too large to carry.",
    "progress": "Of a split: how many of its items are done.",
    "details": "More about the status, for people.",
    "log": "The lines that the node wrote to the log; at most 100 and 16 KiB of a visit.",
    "metadata": "More about the status, for programs: resume_at of a wait, retry_at of a retry.",
    "final_context": "What every node put out, by `$<node id>`.",
    "completed_at": "When the run ended, RFC 3339 in UTC.",
    "total_duration_ms": "How long the run took, from its first message.",
    "failed_node": "The node that ended the run.",
    "output_nodes": "The nodes at which the run ended: their outputs are its output.",
}

PUBLISHED_NAMES = {"LogLineRecord": "Line"}
"""By class, the name of a type in the schemas: readers may have generated code by it."""


def schema_of(name: str, generated: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of message `name` as it is published, from the one its type implies."""
    text = msgspec.json.encode(generated)
    for ours, theirs in PUBLISHED_NAMES.items():
        text = text.replace(ours.encode(), theirs.encode())
    generated = msgspec.json.decode(text)
    parts = {
        key: {**part, "description": " ".join(part["description"].split())}
        for key, part in generated["$defs"].items()
    }
    body = parts.pop(name)
    body["properties"] = {
        field: {**shape, **FIELD_LIMITS.get(field, {}), "description": FIELD_MEANINGS[field]}
        for field, shape in body["properties"].items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:onward:{name}",
        **body,
        "$defs": parts,
    }
