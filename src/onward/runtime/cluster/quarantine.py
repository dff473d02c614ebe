"""Quarantine: messages that cannot be handled, each stored with its reason while its run ends.

`Quarantine` puts messages there. Nothing is lost: the message is stored as it came, and the run
ends as `failed` with the cause instead of waiting for ever for a message that will never arrive.

`QuarantineReview` lists them, releases them to the workers, or discards them. A message is released
by publishing it again and only then removing it, so a crash in between leaves two copies and loses
none; claims drop the second. Messages that nothing was decided about return to the queue in order.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from typing import Any

import msgspec

from onward.errors import InputError, MessageError
from onward.kernel.envelope import run_names_of
from onward.kernel.ids import fingerprint
from onward.kernel.json import decode, is_too_deep
from onward.kernel.messages import (
    Token,
    check_identifier,
    decode_token,
    encode_again,
    state_id_of,
)
from onward.kernel.records import RunRecord
from onward.kernel.timestamps import to_iso
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.cluster.inspection import Inspector, QuarantineQueue
from onward.ports.storage.history_store import HistoryStore
from onward.runtime.cluster.close_run import close_run
from onward.runtime.cluster.services import WorkerServices
from onward.runtime.queues import EXECUTION, QUARANTINE, queue_of
from onward.runtime.token.statuses import fields_of, quarantine_of, run_of

UNKNOWN_WORKFLOW = "unknown"
"""The workflow of a run of which only the id could be read."""
BY_BROKER = "the broker gave it up: it was delivered too often, or found no queue"


class QuarantineNote(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the quarantine queue."""

    reason: str
    at: str
    execution_id: str
    body: str
    """The message as it came, in base64: it may be anything."""


# -- into quarantine -----------------------------------------------------------------------------


class Quarantine:
    """Puts messages into quarantine."""

    def __init__(self, services: WorkerServices) -> None:
        self._services = services

    async def put(self, body: bytes, token: Token | None, reason: str) -> None:
        """Store the message with its reason, then end the run it belongs to, if it names one.

        Without a token the message could not be read as one; it may still name its run.
        """
        services, now_ms = self._services, self._services.clock.now_ms()
        run = run_of(token, now_ms) if token is not None else _run_named_in(body, now_ms)
        note = QuarantineNote(
            reason=reason,
            at=to_iso(now_ms),
            execution_id=run.execution_id if run else "",
            body=base64.b64encode(body).decode(),
        )
        await services.bus.publish(QUARANTINE, msgspec.json.encode(note))
        fields = fields_of(token) or {"run": note.execution_id}
        services.log.write("error", f"a message was quarantined: {reason}", **fields)
        if run is not None:
            await close_run(
                services.bus,
                services.coordinator,
                services.timers,
                state_id_of(run.execution_id, run.generation),
                f"quarantine:{token.token_id if token is not None else fingerprint(body)}",
                quarantine_of(run, reason, now_ms),
            )


def _run_named_in(body: bytes, now_ms: int) -> RunRecord | None:
    """Return the run that an unreadable message names; None when no run can have that name."""
    workflow_id, execution_id, generation = run_names_of(body)
    try:
        check_identifier("execution_id", execution_id)
    except MessageError:
        return None
    try:
        check_identifier("workflow_id", workflow_id)
    except MessageError:
        workflow_id = UNKNOWN_WORKFLOW
    return RunRecord(
        execution_id=execution_id,
        workflow_id=workflow_id,
        definition_ref="",
        status="running",
        started_ms=now_ms,
        generation=generation,
    )


# -- out of quarantine ---------------------------------------------------------------------------


class NumberedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message in quarantine. Its number is its position, counted from 1."""

    number: int
    at: str
    execution_id: str
    node: str
    reason: str
    body: bytes
    """The message as it came."""


_Taken = tuple[NumberedMessage, Delivery]


class QuarantineReview:
    """Decides about the messages in quarantine."""

    def __init__(
        self, queue: QuarantineQueue, bus: Bus, store: HistoryStore, inspector: Inspector
    ) -> None:
        self._queue = queue
        self._bus = bus
        self._store = store
        self._inspector = inspector

    async def list_all(self) -> list[NumberedMessage]:
        """Return all messages, oldest first, and leave them in quarantine."""
        taken = await self._take_all()
        await _give_back(taken)
        return [message for message, _ in taken]

    async def find(self, number: int) -> NumberedMessage:
        """Return one message, and leave it in quarantine; InputError when it is not there."""
        chosen = await self._take((number,))
        await _give_back(chosen)
        return chosen[0][0]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool = False
    ) -> list[NumberedMessage]:
        """Send messages (None: all) to the workers again, and return them.

        InputError, and nothing is sent, when one of them belongs to a run that has ended: its
        token would be dropped. `force` sends it all the same.
        """
        chosen = await self._take(numbers)
        messages = [message for message, _ in chosen]
        ended = [] if force else [held for held in messages if await self._has_ended(held)]
        if ended:
            await _give_back(chosen)
            named = ", ".join(f"{message.number} ({message.execution_id})" for message in ended)
            raise InputError(
                f"the run has ended, so the message would be dropped: {named}. Nothing was"
                " released. A run ends as failed when a message of it is quarantined: start it"
                " again, and discard the message; --force releases it all the same"
            )
        for message, delivery in chosen:
            queue, body = _as_new(message.body)
            await self._bus.publish(queue, body)
            await delivery.ack()
        return messages

    async def discard(self, numbers: Collection[int] | None) -> list[NumberedMessage]:
        """Remove messages (None: all) for good, and return them."""
        chosen = await self._take(numbers)
        for _, delivery in chosen:
            await delivery.ack()
        return [message for message, _ in chosen]

    async def _take_all(self) -> list[_Taken]:
        deliveries = await self._queue.take()
        return [
            (_read_entry(number, delivery.body), delivery)
            for number, delivery in enumerate(deliveries, 1)
        ]

    async def _take(self, numbers: Collection[int] | None) -> list[_Taken]:
        """Take the chosen messages and return the rest; InputError for one that is not there."""
        taken = await self._take_all()
        if numbers is None:
            return taken
        unknown = sorted(set(numbers) - {message.number for message, _ in taken})
        if unknown:
            await _give_back(taken)
            there = f"it holds {len(taken)}" if taken else "it is empty"
            named = ", ".join(map(str, unknown))
            raise InputError(f"there is no message {named} in quarantine: {there}")
        await _give_back([entry for entry in taken if entry[0].number not in numbers])
        return [entry for entry in taken if entry[0].number in numbers]

    async def _has_ended(self, message: NumberedMessage) -> bool:
        if not message.execution_id:
            return False
        run = await self._store.execution(message.execution_id)
        if run is not None and run.ended_ms is not None:
            return True
        # Its own state: that of a run that was rebuilt is another one.
        state_id = state_id_of(message.execution_id, run_names_of(message.body).generation)
        return (await self._inspector.look(state_id)).over


def content_of(body: bytes) -> dict[str, Any]:
    """Return a message as JSON, or in base64 when it is none, or too deep to be shown."""
    if is_too_deep(body):
        return in_base64(body)
    try:
        return {"message": decode(body)}
    except MessageError:
        return in_base64(body)


def in_base64(body: bytes) -> dict[str, Any]:
    """Return the bytes of a message."""
    return {"base64": base64.b64encode(body).decode()}


async def _give_back(taken: list[_Taken]) -> None:
    for _, delivery in taken:
        await delivery.give_back()


def _read_entry(number: int, data: bytes) -> NumberedMessage:
    """Return one entry of the queue; one that the broker put there is a bare message."""
    try:
        note = msgspec.json.decode(data, type=QuarantineNote)
        body = base64.b64decode(note.body, validate=True)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error):
        note = QuarantineNote(reason=BY_BROKER, at="", execution_id="", body="")
        body = data
    execution_id, node = _run_and_node_of(body)
    return NumberedMessage(
        number=number,
        at=note.at,
        execution_id=note.execution_id or execution_id,
        node=node,
        reason=note.reason,
        body=body,
    )


def _run_and_node_of(body: bytes) -> tuple[str, str]:
    try:
        token = decode_token(body)
    except MessageError:
        return run_names_of(body).execution_id, ""
    return token.execution_id, token.current_node


def _as_new(body: bytes) -> tuple[str, bytes]:
    """Return the queue and the form in which to send a message again: without its failures."""
    try:
        token = decode_token(body)
    except MessageError:
        return EXECUTION, body  # a worker that understands it may be running by now
    return queue_of(token), encode_again(msgspec.structs.replace(token, trouble=0), body)
