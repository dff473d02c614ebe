"""What a run did before this process took it up, told again as status messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from onward.kernel.messages import NodeStatusMessage, Status
from onward.kernel.moment import to_iso
from onward.kernel.outcome import NodeError
from onward.languages.graph.model import Document
from onward.ports.journal import NodeRun


def statuses(history: Iterable[NodeRun], document: Document) -> Iterator[NodeStatusMessage]:
    """Yield a message for each line of history, as far as drawing needs it."""
    policies = {node.id: node.retry for node in document.nodes}
    for one in history:
        error = msgspec.json.decode(one.error, type=NodeError) if one.error else None
        policy = policies.get(one.node_id)
        metadata: dict[str, Any] | None = None
        if error is not None and policy is not None:
            delay_ms = policy.delay_ms(one.attempt, error.code, 0)
            if delay_ms is not None:
                metadata = {"retry_at": one.at_ms + delay_ms}
        message = NodeStatusMessage(
            workflow_id=document.id,
            execution_id=one.execution_id,
            node_id=one.node_id,
            status=cast(Status, one.status),
            error=error,
            executed_at=to_iso(one.at_ms),
            duration_ms=one.duration_ms,
            lineage_stack=one.lineage,
            token_id=one.token_id,
            attempt=one.attempt,
            metadata=metadata,
        )
        if one.attempt > 1:
            # History has no beginnings, but only a beginning tells that a pause is over.
            yield msgspec.structs.replace(message, status="running", error=None, metadata=None)
        yield message
