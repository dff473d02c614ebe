"""From a report of the kernel to what the world reads: a status message, and a line of history."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from weft.kernel.context import INLINE_LIMIT, Ref, stored
from weft.kernel.effects import Report
from weft.kernel.messages import NodeStatusMessage, Token
from weft.kernel.moment import to_iso
from weft.ports.journal import NodeRun


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


def status_of(report: Report, now_ms: int, duration_ms: int) -> NodeStatusMessage:
    """Return the status message that a report asks for."""
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
    )


def node_run_of(status: NodeStatusMessage, at_ms: int) -> NodeRun | None:
    """Return the line of history for a status, or None when it is only news of progress."""
    passing = status.status == "waiting" and status.metadata is None
    if status.status == "running" or passing:
        return None
    return NodeRun(
        execution_id=status.execution_id,
        token_id=status.token_id,
        node_id=status.node_id,
        status=status.status,
        attempt=status.attempt,
        at_ms=at_ms,
        duration_ms=status.duration_ms,
        lineage=status.lineage_stack,
        output=status.output,
        output_ref=status.output_ref,
        error=msgspec.json.encode(status.error) if status.error else None,
    )


def _carried(output: Raw | None) -> tuple[Raw | None, Ref | None]:
    """A large output is in the payload store already, under its content: say only where."""
    if output is None or len(output) <= INLINE_LIMIT:
        return output, None
    return None, stored(output).ref
