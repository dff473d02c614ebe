"""The names of the queues (RFC 001 section 8, RFC 005 section 5), and the queue of each message."""

from __future__ import annotations

from onward.kernel.messages import Token

EXECUTION = "workflow.execution"
STATUS = "workflow.node.status"
COMPLETION = "workflow.completion"
TIMEOUT = "workflow.timeout.process"
QUARANTINE = "workflow.quarantine"
DELAYS_S = (5, 25, 125)
RETRIES = tuple(f"workflow.execution.retry.{seconds}s" for seconds in DELAYS_S)
"""Where a message waits after the first, second and third failure outside its node."""


def queue_of(token: Token) -> str:
    """Return the queue that a token travels by: time-outs have one of their own."""
    return TIMEOUT if token.signal == "timeout" else EXECUTION


OUTSIDE_LEVEL = 5
"""The lowest level of a token outside splits, above every level of one inside. Brokers with two
levels only (quorum queues of RabbitMQ 4.0 to 4.2) draw their line there."""


def level_of(token: Token) -> int:
    """Return the priority of a token at the broker: the higher, the sooner, 0 to 10.

    Tokens outside splits go first, so a split of any size delays no other run. Inside, deeper is
    sooner: started items are finished before more are started. The page that sends more items goes
    with them, behind those already sent. A run's own priority raises all its tokens within these
    bounds.
    """
    if token.signal == "probe":
        return 0  # it must not overtake the messages that it looks for
    depth = len(token.lineage_stack) + (token.signal == "page")
    own = max(0, token.priority)
    if not depth:
        return min(OUTSIDE_LEVEL + own, 10)
    return min(own + min(depth, 3) - 1, OUTSIDE_LEVEL - 1)
