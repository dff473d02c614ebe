"""What the world reads about a token: statuses of nodes, completions of runs, fields of log lines.

A workflow that ends its run makes the completion itself (`kernel/flow.py`). The completions here
are those of runs that the engine ends: cancelled, expired, quarantined, refused, beyond repair.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from onward.kernel.context import INLINE_LIMIT, Ref, payload_of
from onward.kernel.effects import Report
from onward.kernel.lineage import describe
from onward.kernel.log_lines import LogLineRecord
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, Token
from onward.kernel.outcome import NodeError
from onward.kernel.records import RunRecord
from onward.kernel.timestamps import to_iso
from onward.ports.telemetry import parent_of

# -- statuses ------------------------------------------------------------------------------------


def running_status_of(token: Token, now_ms: int) -> NodeStatusMessage:
    """Return the status of a node that starts."""
    return NodeStatusMessage(
        workflow_id=token.workflow_id,
        execution_id=token.execution_id,
        node_id=token.current_node,
        status="running",
        executed_at=to_iso(now_ms),
        duration_ms=0,
        lineage_stack=token.lineage_stack,
        token_id=token.token_id,
        attempt=token.attempt,
    )


def status_of(
    report: Report, now_ms: int, duration_ms: int, log: tuple[LogLineRecord, ...] = ()
) -> NodeStatusMessage:
    """Return the status message that a report asks for, with the log lines of the node."""
    output, ref = _carried(report.output)
    token = report.token
    return NodeStatusMessage(
        workflow_id=token.workflow_id,
        execution_id=token.execution_id,
        node_id=report.node,
        status=report.status,
        output=output,
        output_ref=ref,
        error=report.error,
        executed_at=to_iso(now_ms),
        duration_ms=duration_ms,
        lineage_stack=report.lineage,
        token_id=token.token_id,
        attempt=token.attempt,
        progress=report.progress,
        details=report.details,
        metadata=report.metadata,
        log=log,
    )


def _carried(output: Raw | None) -> tuple[Raw | None, Ref | None]:
    """A large output is in the payload store already, under its content: carry its reference."""
    if output is None or len(output) <= INLINE_LIMIT:
        return output, None
    return None, payload_of(output).ref


# -- completions ---------------------------------------------------------------------------------


def run_of(token: Token, now_ms: int) -> RunRecord:
    """Return the run that a token belongs to, as far as the token knows it."""
    return RunRecord(
        execution_id=token.execution_id,
        workflow_id=token.workflow_id,
        definition_ref=token.definition_ref,
        status="running",
        started_ms=token.started_at or now_ms,
        generation=token.generation,
    )


def ended_by_engine(
    run: RunRecord, status: Literal["failed", "cancelled"], code: str, text: str, now_ms: int
) -> CompletionMessage:
    """Return the completion of a run that the engine ends, and not its workflow.

    The clocks of two machines differ: a run may end before it started, but not take less than 0 ms.
    """
    return CompletionMessage(
        workflow_id=run.workflow_id,
        execution_id=run.execution_id,
        status=status,
        final_context={},
        completed_at=to_iso(now_ms),
        total_duration_ms=max(0, now_ms - run.started_ms),
        error=NodeError(text, code),
    )


def cancellation_of(run: RunRecord, reason: str, now_ms: int) -> CompletionMessage:
    """Return the completion of a run that was cancelled."""
    return ended_by_engine(run, "cancelled", "CANCELLED", reason or "it was cancelled", now_ms)


def expiry_of(run: RunRecord, now_ms: int) -> CompletionMessage:
    """Return the completion of a run that reached its deadline."""
    text = "the run did not end within its time limit"
    return ended_by_engine(run, "failed", "EXECUTION_TIMEOUT", text, now_ms)


def quarantine_of(run: RunRecord, reason: str, now_ms: int) -> CompletionMessage:
    """Return the completion of a run of which a message was quarantined."""
    text = f"a message was quarantined: {reason}"
    return ended_by_engine(run, "failed", "QUARANTINED", text, now_ms)


# -- log lines -----------------------------------------------------------------------------------


def text_of(message: object) -> str:
    """Return what a log node writes as one text: strings as they are, the rest as JSON."""
    return message if isinstance(message, str) else msgspec.json.encode(message).decode()


def fields_of(token: Token | None) -> dict[str, object]:
    """Return what every log line about a token carries: run, node, item, attempt, and its trace."""
    if token is None:
        return {}
    fields: dict[str, object] = {
        "run": token.execution_id,
        "node": token.current_node,
        "item": describe(token.lineage_stack),
        "attempt": token.attempt,
    }
    if token.traceparent:
        fields["trace"] = parent_of(token).trace
    return fields
