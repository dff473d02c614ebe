"""Quarantine: a message that cannot be handled is put aside with its reason, and its run ends.

Nothing is lost: the message is kept as it came, and the run says `failed` with the cause instead of
waiting for ever for what will never arrive.
"""

from __future__ import annotations

import base64

import msgspec

from weft.kernel.effects import Close, Forget
from weft.kernel.messages import CompletionMessage, Token, encode_message
from weft.kernel.moment import to_iso
from weft.kernel.outcome import NodeError
from weft.runtime.queues import COMPLETION, QUARANTINE
from weft.runtime.services import Services


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
        """Keep the message with its reason, then end the run it belongs to, if it names one."""
        now_ms = self._at.clock.now_ms()
        kept = QuarantinedMessage(
            reason=reason,
            at=to_iso(now_ms),
            execution_id=token.execution_id if token else "",
            body=base64.b64encode(body).decode(),
        )
        await self._at.bus.publish(QUARANTINE, msgspec.json.encode(kept))
        run = token.execution_id if token else ""
        self._at.log.write("error", f"a message was quarantined: {reason}", run=run)
        if token is not None:
            await self._end(token, reason, now_ms)

    async def _end(self, token: Token, reason: str, now_ms: int) -> None:
        message = CompletionMessage(
            workflow_id=token.workflow_id,
            execution_id=token.execution_id,
            status="failed",
            final_context={},
            completed_at=to_iso(now_ms),
            total_duration_ms=max(0, now_ms - (token.started_at or now_ms)),
            error=NodeError(f"a message was quarantined: {reason}", "QUARANTINED"),
        )
        by = f"quarantine:{token.token_id}"
        ask = self._at.coordinator.answer
        standing = await ask(token.execution_id, Close(by=by, message=message))
        if standing is not None:
            await self._at.bus.publish(COMPLETION, encode_message(standing))
            await self._at.timers.cancel_all(token.execution_id)
            await ask(token.execution_id, Forget())
