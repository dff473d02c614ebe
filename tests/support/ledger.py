"""The messages that a store folds, and the run they speak of: plain unless a test says else."""

from msgspec import Raw

from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.records import RunRecord
from onward.kernel.timestamps import to_iso


def execution(name="x1", **fields):
    given = {"workflow_id": "wf", "definition_ref": "ref", "status": "running", "started_ms": 5_000}
    return RunRecord(execution_id=name, **{**given, **fields})


def status(visit="t", name="x1", at_ms=1_000, **fields):
    given = {
        "workflow_id": "wf",
        "node_id": "a",
        "status": "success",
        "output": Raw(b"1"),
        "duration_ms": 10,
        "executed_at": to_iso(at_ms),
    }
    return NodeStatusMessage(execution_id=name, token_id=visit, **{**given, **fields})


def completion(name="x1", ending="completed", ended_ms=9_000, **fields):
    given = {
        "workflow_id": "wf",
        "final_context": {"$a": Raw(b"1")},
        "completed_at": to_iso(ended_ms),
        "total_duration_ms": 100,
    }
    return CompletionMessage(execution_id=name, status=ending, **{**given, **fields})
