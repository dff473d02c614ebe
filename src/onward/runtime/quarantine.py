"""Quarantine: a message that cannot be handled is put aside with its reason, and its run ends.

Nothing is lost: the message is kept as it came, and the run says `failed` with the cause instead of
waiting for ever for what will never arrive.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

import msgspec

from onward.errors import MessageError
from onward.kernel.effects import Close, Forget
from onward.kernel.envelope import names_in
from onward.kernel.ids import fingerprint
from onward.kernel.messages import (
    CompletionMessage,
    Token,
    check_identifier,
    encode_message,
    run_of,
)
from onward.kernel.moment import to_iso
from onward.kernel.outcome import NodeError
from onward.runtime.log_fields import fields_of
from onward.runtime.queues import COMPLETION, QUARANTINE
from onward.runtime.services import Services

UNKNOWN = "unknown"
"""The workflow of a run of which nothing but its own name could be read."""


class QuarantinedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What the quarantine queue holds."""

    reason: str
    at: str
    execution_id: str
    body: str
    """The message as it came, in base64: it may be anything."""


class Quarantine:
    """Puts messages aside."""

    def __init__(self, services: Services) -> None:
        self._at = services

    async def put(self, body: bytes, token: Token | None, reason: str) -> None:
        """Keep the message with its reason, then end the run it belongs to, if it names one.

        Without a token the message could not be read as one; it may still name its run.
        """
        now_ms = self._at.clock.now_ms()
        run = _told_by(token) if token is not None else _named_in(body)
        kept = QuarantinedMessage(
            reason=reason,
            at=to_iso(now_ms),
            execution_id=run.execution_id if run else "",
            body=base64.b64encode(body).decode(),
        )
        await self._at.bus.publish(QUARANTINE, msgspec.json.encode(kept))
        fields = fields_of(token) or {"run": kept.execution_id}
        self._at.log.write("error", f"a message was quarantined: {reason}", **fields)
        if run is not None:
            await self._end(run, reason, now_ms)

    async def _end(self, run: _Run, reason: str, now_ms: int) -> None:
        message = CompletionMessage(
            workflow_id=run.workflow_id,
            execution_id=run.execution_id,
            status="failed",
            final_context={},
            completed_at=to_iso(now_ms),
            total_duration_ms=max(0, now_ms - (run.started_at or now_ms)),
            error=NodeError(f"a message was quarantined: {reason}", "QUARANTINED"),
        )
        ask = self._at.coordinator.answer
        standing = await ask(run.state, Close(by=f"quarantine:{run.message}", message=message))
        if standing is not None:
            await self._at.bus.publish(COMPLETION, encode_message(standing))
            await self._at.timers.cancel_all(run.state)
            await ask(run.state, Forget())


class _Run(NamedTuple):
    """The run that a message belongs to, and a name for the message itself."""

    workflow_id: str
    execution_id: str
    state: str
    started_at: int
    message: str


def _told_by(token: Token) -> _Run:
    ids = token.workflow_id, token.execution_id
    return _Run(*ids, token.run, token.started_at, token.token_id)


def _named_in(body: bytes) -> _Run | None:
    """Return the run that something unreadable names; None when no run can have that name."""
    workflow_id, execution_id, generation = names_in(body)
    try:
        check_identifier("execution_id", execution_id)
    except MessageError:
        return None
    try:
        check_identifier("workflow_id", workflow_id)
    except MessageError:
        workflow_id = UNKNOWN
    state = run_of(execution_id, generation)
    return _Run(workflow_id, execution_id, state, 0, fingerprint(body))
