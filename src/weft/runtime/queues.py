"""The names of the queues (RFC 001 section 8, RFC 005 section 5), and which message goes where."""

from __future__ import annotations

from weft.kernel.messages import Token

EXECUTION = "workflow.execution"
STATUS = "workflow.node.status"
COMPLETION = "workflow.completion"
TIMEOUT = "workflow.timeout.process"
QUARANTINE = "workflow.quarantine"
RETRIES = tuple(f"workflow.execution.retry.{seconds}s" for seconds in (5, 25, 125))
"""Where a message waits after the first, second and third failure outside its node."""


def queue_of(token: Token) -> str:
    """Return the queue that a token travels by: time-outs have one of their own."""
    return TIMEOUT if token.signal == "timeout" else EXECUTION
