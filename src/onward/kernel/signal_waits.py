"""Waiting for a signal: how a token sleeps until one comes, and how one finds its way to it.

A token that waits is kept by a timer, which is due when it gives up. A signal that meets it lets
that timer fire at once. So a wait costs what a timer costs, and outlives whatever a timer outlives.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload, Ref, stored
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

APPROVAL = "approval:"
"""What the names of signals that are decisions begin with: no other signal can have them."""
INLINE = 32 * 1024
"""A value above this many bytes is stored, and the signal carries where."""
_CONTENT = "$signal"


class Sent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a signal brings: a value, where a large one is, or why there is none."""

    at_ms: int
    value: Raw | msgspec.UnsetType = msgspec.UNSET
    ref: Ref | None = None
    error: NodeError | None = None


class WaitResult(msgspec.Struct, frozen=True):
    """What a wait came to: a value or an error, and when that was; neither: nobody came in time."""

    at_ms: int
    value: Raw | None = None
    error: NodeError | None = None


_sent = msgspec.json.Decoder(Sent)


def address_of(name: str, key: str) -> str:
    """Return where signals of a name, and of a key if there is one, meet those who wait."""
    return f"{name}/{key}" if key else name


def read_address(address: str) -> tuple[str, str]:
    """Return the name and the key of an address."""
    name, _, key = address.partition("/")
    return name, key


def carried(value: Raw, at_ms: int) -> tuple[Sent, Payload | None]:
    """Return what a signal with a value brings, and what must be stored for it, if anything."""
    if len(value) <= INLINE:
        return Sent(at_ms=at_ms, value=value), None
    payload = stored(value)
    return Sent(at_ms=at_ms, ref=payload.ref), payload


def signal_token(first: Token, address: str, signal_id: str, sent: Sent) -> Token:
    """Return a signal on its way to a run; `first` is a token that the run began with.

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


def suspend(place: Position, address: str, until_ms: int | None) -> Judgement[None]:
    """Let the token at `place` sleep until a signal comes to the address, or its time is up.

    The timer first: a signal that finds the wait finds the timer.
    """
    token = place.token
    due_ms = LATEST_MS if until_ms is None else until_ms
    woken = msgspec.structs.replace(
        token,
        signal="awaited",
        awaits=address,
        token_id=woken_id(token.token_id),
        publish_id="",
        parent=token.token_id,
        outcome="signal",
        siblings=1,
        accumulated_context=place.context.inline,
        context_refs=place.context.refs,
        context_base=place.context.base,
        sent_at=max(due_ms, token.sent_at),
    )
    yield SetTimer(woken, due_ms)
    taken = yield from ask(
        Await(scope=place.scope, lineage=place.lineage, address=address, by=token.token_id)
    )
    if taken is not None:
        yield Hasten(woken.token_id)


def woken_id(unit: str) -> str:
    """Return the id of the token that goes on when `unit` has waited."""
    return derive(unit, "signal")


def deliver(token: Token) -> Judgement[None]:
    """A signal arrives: whoever waits for it goes on, or it is kept until somebody does."""
    content = bytes(token.accumulated_context.get(_CONTENT, b""))
    unit = yield from ask(Deliver(address=token.awaits, by=token.token_id, content=content))
    if unit is not None:
        yield Hasten(woken_id(unit))


def answer(token: Token) -> Judgement[WaitResult | None]:
    """Return what the wait of a token that was woken came to; None: the run is over."""
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
