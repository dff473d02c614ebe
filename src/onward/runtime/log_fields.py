"""What every log line about a run carries, whoever writes it."""

from __future__ import annotations

from onward.kernel.lineage import describe
from onward.kernel.messages import Token
from onward.ports.tracing import parent_of


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
