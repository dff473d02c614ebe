"""From a report of the kernel to what the world reads: a status message, and a line of history."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from onward.kernel.context import INLINE_LIMIT, Ref, payload_of
from onward.kernel.effects import Report
from onward.kernel.lineage import describe
from onward.kernel.log_lines import LogLineRecord
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, Token
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso
from onward.ports.telemetry import parent_of


def running(token: Token, now_ms: int) -> NodeStatusMessage:
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
    """Return the status message that a report asks for, with what the node wrote to the log."""
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


def cancelled(
    workflow_id: str, execution_id: str, started_ms: int, now_ms: int, reason: str
) -> CompletionMessage:
    """Return the ending of a run that somebody cancelled."""
    return CompletionMessage(
        workflow_id=workflow_id,
        execution_id=execution_id,
        status="cancelled",
        final_context={},
        completed_at=to_iso(now_ms),
        total_duration_ms=max(0, now_ms - started_ms),
        error=NodeError(reason or "it was cancelled", "CANCELLED"),
    )


def expired(workflow_id: str, execution_id: str, started_ms: int, now_ms: int) -> CompletionMessage:
    """Return the ending of a run that took longer than it may."""
    return CompletionMessage(
        workflow_id=workflow_id,
        execution_id=execution_id,
        status="failed",
        final_context={},
        completed_at=to_iso(now_ms),
        total_duration_ms=max(0, now_ms - started_ms),
        error=NodeError("the run did not end within its time limit", "EXECUTION_TIMEOUT"),
    )


def failed(
    workflow_id: str, execution_id: str, started_ms: int, now_ms: int, reason: str
) -> CompletionMessage:
    """Return the ending of a run of which a message was quarantined."""
    return CompletionMessage(
        workflow_id=workflow_id,
        execution_id=execution_id,
        status="failed",
        final_context={},
        completed_at=to_iso(now_ms),
        total_duration_ms=now_ms - started_ms,
        error=NodeError(f"a message was quarantined: {reason}", "QUARANTINED"),
    )


def _carried(output: Raw | None) -> tuple[Raw | None, Ref | None]:
    """A large output is in the payload store already, under its content: say only where."""
    if output is None or len(output) <= INLINE_LIMIT:
        return output, None
    return None, payload_of(output).ref


def text_of(message: object) -> str:
    """Return what a log node says as one text: strings as they are, the rest as JSON."""
    return message if isinstance(message, str) else msgspec.json.encode(message).decode()


# -- What every log line about a run carries, whoever writes it.


def fields_of(token: Token | None) -> dict[str, object]:
    """Return the run, node, item and attempt of a token, and its trace when it has one."""
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
