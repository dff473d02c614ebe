"""Waiting for a signal: how a token is suspended until one arrives, and how one is delivered.

A token that waits is held by a timer, which is due at the deadline of the wait. A signal for it
fires that timer at once. So a wait costs what a timer costs, and survives what a timer survives.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload, Ref, payload_of
from onward.kernel.effects import (
    Await,
    CancelTimer,
    Deliver,
    Hasten,
    Judgement,
    Load,
    Resolve,
    SetTimer,
    ask,
)
from onward.kernel.flow import Position
from onward.kernel.ids import derive
from onward.kernel.messages import Token
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import LATEST_MS

APPROVAL_PREFIX = "approval:"
"""The names of signals that are approvals begin with this; no other signal may."""
MAX_INLINE_BYTES = 32 * 1024
"""A value above this many bytes is stored, and the signal carries a reference."""
_CONTENT = "$signal"


class SignalContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a signal: a value, the reference of a large one, or an error."""

    at_ms: int
    value: Raw | msgspec.UnsetType = msgspec.UNSET
    ref: Ref | None = None
    error: NodeError | None = None


class WaitResult(msgspec.Struct, frozen=True):
    """The result of a wait: a value or an error, and its time. Neither: the wait timed out."""

    at_ms: int
    value: Raw | None = None
    error: NodeError | None = None


_sent = msgspec.json.Decoder(SignalContent)


def address_of(name: str, key: str) -> str:
    """Return the address at which signals of a name, and of a key if there is one, are taken."""
    return f"{name}/{key}" if key else name


def read_address(address: str) -> tuple[str, str]:
    """Return the name and the key of an address."""
    name, _, key = address.partition("/")
    return name, key


def content_of(value: Raw, at_ms: int) -> tuple[SignalContent, Payload | None]:
    """Return the content of a signal with a value, and what must be stored for it, if anything."""
    if len(value) <= MAX_INLINE_BYTES:
        return SignalContent(at_ms=at_ms, value=value), None
    payload = payload_of(value)
    return SignalContent(at_ms=at_ms, ref=payload.ref), payload


def signal_token(first: Token, address: str, signal_id: str, sent: SignalContent) -> Token:
    """Return the token that carries a signal to a run; `first` is one of the run's first tokens.

    The same id is the same signal, however often it is sent.
    """
    token_id = derive(first.execution_id, "signal", address, signal_id)
    return msgspec.structs.replace(
        first,
        signal="signal",
        awaits=address,
        token_id=token_id,
        parent=derive(token_id, "sent"),
        outcome="signal",
        siblings=1,
        accumulated_context={_CONTENT: Raw(msgspec.json.encode(sent))},
        context_refs={},
        context_base=None,
        sent_at=sent.at_ms,
    )


def suspend(position: Position, address: str, until_ms: int | None) -> Judgement[None]:
    """Suspend the token at `position` until a signal arrives at the address, or `until_ms`.

    The timer first: a signal that finds the wait finds the timer.
    """
    token = position.token
    due_ms = LATEST_MS if until_ms is None else until_ms
    woken = msgspec.structs.replace(
        token,
        signal="awaited",
        awaits=address,
        token_id=wake_token_id(token.token_id),
        publish_id="",
        parent=token.token_id,
        outcome="signal",
        siblings=1,
        accumulated_context=position.context.inline,
        context_refs=position.context.refs,
        context_base=position.context.base,
        sent_at=max(due_ms, token.sent_at),
    )
    yield SetTimer(woken, due_ms)
    taken = yield from ask(
        Await(scope=position.scope, lineage=position.lineage, address=address, by=token.token_id)
    )
    if taken is not None:
        yield Hasten(woken.token_id)


def wake_token_id(unit: str) -> str:
    """Return the id of the token that continues after the wait of `unit`."""
    return derive(unit, "signal")


def deliver(token: Token) -> Judgement[None]:
    """Deliver a signal: the unit that waits for it continues; without one, it is saved."""
    content = bytes(token.accumulated_context.get(_CONTENT, b""))
    unit = yield from ask(Deliver(address=token.awaits, by=token.token_id, content=content))
    if unit is not None:
        yield Hasten(wake_token_id(unit))


def wait_result_of(token: Token) -> Judgement[WaitResult | None]:
    """Return the result of the wait that `token` ends; None: the run has ended."""
    taken = yield from ask(
        Resolve(scope=token.scope, address=token.awaits, unit=token.parent, by=token.token_id)
    )
    if taken is None:
        return None
    if not taken.signal:
        return WaitResult(token.sent_at)
    yield CancelTimer(token.token_id)
    sent = _sent.decode(taken.content)
    if sent.error is not None:
        return WaitResult(sent.at_ms, error=sent.error)
    if sent.ref is not None:
        value = yield from ask(Load(ref=sent.ref))
        return WaitResult(sent.at_ms, value)
    return WaitResult(sent.at_ms, Raw(b"null") if sent.value is msgspec.UNSET else sent.value)
