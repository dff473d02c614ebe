"""How a run ended, in words."""

from __future__ import annotations

from onward.kernel.messages import decode_completion
from onward.kernel.moment import to_iso
from onward.ports.journal import Execution

_ENDINGS = {
    "completed": "it has completed",
    "failed": "it failed",
    "halted": "it was halted",
    "cancelled": "it was cancelled",
}


def ending_of(run: Execution) -> str:
    """Return how a run ended as a sentence."""
    text = f"{_ENDINGS[run.status]} at {to_iso(run.ended_ms or 0)}"
    if run.completion is None:
        return text
    message = decode_completion(run.completion)
    if message.error is None:
        return text
    where = f" at node {message.failed_node}" if message.failed_node else ""
    return f"{text}{where}: {message.error.message} [{message.error.code}]"
