"""What lies in quarantine: look at it, send it once more, or throw it away.

A message is released by publishing it again and only then removing it, so a crash in between leaves
two copies and loses none; claims drop the second. Messages that nothing was decided about return to
the queue in their order.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from onward.errors import InputError, MessageError
from onward.kernel.effects import Close, Forget
from onward.kernel.envelope import run_names_of
from onward.kernel.ids import fingerprint
from onward.kernel.json import decode, is_too_deep
from onward.kernel.messages import (
    CompletionMessage,
    Token,
    check_identifier,
    decode_token,
    encode_again,
    encode_message,
    state_id_of,
)
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.cluster.inspection import Inspector, QuarantineQueue
from onward.ports.storage.history_store import HistoryStore
from onward.runtime.cluster.services import Services
from onward.runtime.queues import COMPLETION, EXECUTION, QUARANTINE, queue_of
from onward.runtime.token.statuses import fields_of

# -- Quarantine: a message that cannot be handled is put aside with its reason, and its run ends.
#
# Nothing is lost: the message is kept as it came, and the run says `failed` with the cause instead
# of waiting for ever for what will never arrive.


UNKNOWN = "unknown"
"""The workflow of a run of which nothing but its own name could be read."""


class QuarantineNote(msgspec.Struct, frozen=True, kw_only=True):
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
        kept = QuarantineNote(
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
    return _Run(*ids, token.state_id, token.started_at, token.token_id)


def _named_in(body: bytes) -> _Run | None:
    """Return the run that something unreadable names; None when no run can have that name."""
    workflow_id, execution_id, generation = run_names_of(body)
    try:
        check_identifier("execution_id", execution_id)
    except MessageError:
        return None
    try:
        check_identifier("workflow_id", workflow_id)
    except MessageError:
        workflow_id = UNKNOWN
    state = state_id_of(execution_id, generation)
    return _Run(workflow_id, execution_id, state, 0, fingerprint(body))


BY_BROKER = "the broker gave it up: it was delivered too often, or found no queue"


class NumberedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message in quarantine. Its number is its position, counted from 1."""

    number: int
    at: str
    execution_id: str
    node: str
    reason: str
    body: bytes
    """The message as it came."""


_InHand = tuple[NumberedMessage, Delivery]


class QuarantineReview:
    """Decides about what is in quarantine."""

    def __init__(
        self, shelf: QuarantineQueue, bus: Bus, store: HistoryStore, inspector: Inspector
    ) -> None:
        self._shelf = shelf
        self._bus = bus
        self._store = store
        self._inspector = inspector

    async def everything(self) -> list[NumberedMessage]:
        """Return everything, oldest first, and leave it where it is."""
        taken = await self._taken()
        await _give_back(taken)
        return [held for held, _ in taken]

    async def one(self, number: int) -> NumberedMessage:
        """Return one message, and leave it where it is; InputError when it is not there."""
        chosen = await self._chosen((number,))
        await _give_back(chosen)
        return chosen[0][0]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool = False
    ) -> list[NumberedMessage]:
        """Send messages (None: all) to the workers once more, and return them.

        InputError, and nothing is sent, when one of them belongs to a run that has ended: its
        token would be dropped. `force` sends it all the same.
        """
        chosen = await self._chosen(numbers)
        ended = [] if force else [one for one, _ in chosen if await self._over(one.execution_id)]
        if ended:
            await _give_back(chosen)
            named = ", ".join(f"{one.number} ({one.execution_id})" for one in ended)
            raise InputError(
                f"the run has ended, so the message would be dropped: {named}. Nothing was"
                " released. A run ends as failed when a message of it is quarantined: start it"
                " again, and discard the message; --force releases it all the same"
            )
        for held, delivery in chosen:
            queue, body = _again(held.body)
            await self._bus.publish(queue, body)
            await delivery.ack()
        return [held for held, _ in chosen]

    async def discard(self, numbers: Collection[int] | None) -> list[NumberedMessage]:
        """Throw messages (None: all) away, and return them."""
        chosen = await self._chosen(numbers)
        for _, delivery in chosen:
            await delivery.ack()
        return [held for held, _ in chosen]

    async def _taken(self) -> list[_InHand]:
        deliveries = await self._shelf.take()
        return [(_read(number, one.body), one) for number, one in enumerate(deliveries, 1)]

    async def _chosen(self, numbers: Collection[int] | None) -> list[_InHand]:
        """Take what is chosen and return the rest; InputError for a number that is not there."""
        taken = await self._taken()
        if numbers is None:
            return taken
        unknown = sorted(set(numbers) - {held.number for held, _ in taken})
        if unknown:
            await _give_back(taken)
            there = f"it holds {len(taken)}" if taken else "it is empty"
            named = ", ".join(map(str, unknown))
            raise InputError(f"there is no message {named} in quarantine: {there}")
        await _give_back([one for one in taken if one[0].number not in numbers])
        return [one for one in taken if one[0].number in numbers]

    async def _over(self, execution_id: str) -> bool:
        if not execution_id:
            return False
        run = await self._store.execution(execution_id)
        if run is not None and run.ended_ms is not None:
            return True
        return (await self._inspector.look(execution_id)).over


def said(body: bytes) -> dict[str, Any]:
    """Return what a message says: as JSON, or in base64 when it is none that could be told."""
    if is_too_deep(body):
        return in_base64(body)
    try:
        return {"message": decode(body)}
    except MessageError:
        return in_base64(body)


def in_base64(body: bytes) -> dict[str, Any]:
    """Return the bytes of a message."""
    return {"base64": base64.b64encode(body).decode()}


async def _give_back(held: list[_InHand]) -> None:
    for _, delivery in held:
        await delivery.give_back()


def _read(number: int, data: bytes) -> NumberedMessage:
    """Return what is known about a message; one that the broker put here has no note."""
    try:
        kept = msgspec.json.decode(data, type=QuarantineNote)
        body = base64.b64decode(kept.body, validate=True)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error):
        run, node = _about(data)
        return NumberedMessage(
            number=number, at="", execution_id=run, node=node, reason=BY_BROKER, body=data
        )
    run, node = _about(body)
    return NumberedMessage(
        number=number,
        at=kept.at,
        execution_id=kept.execution_id or run,
        node=node,
        reason=kept.reason,
        body=body,
    )


def _about(body: bytes) -> tuple[str, str]:
    try:
        token = decode_token(body)
    except MessageError:
        return run_names_of(body).execution_id, ""
    return token.execution_id, token.current_node


def _again(body: bytes) -> tuple[str, bytes]:
    """Return where to send a message and in which form: its troubles are forgotten."""
    try:
        token = decode_token(body)
    except MessageError:
        return EXECUTION, body  # a worker that understands it may have come meanwhile
    return queue_of(token), encode_again(msgspec.structs.replace(token, trouble=0), body)
