"""The rules every language shares: paths end, scopes close, barriers fill, runs complete.

A token that ends leaves its scope. When the last one has left, the scope closes: an item's scope
fills its slot, the root scope completes the run. This one rule gives one completion for any number
of leaves, the ghost signal of RFC 004 at any depth, and forks inside an item.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, assert_never

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, read_context
from onward.kernel.effects import (
    Abort,
    Aborted,
    Close,
    Closed,
    Complete,
    DiscardSplit,
    Filed,
    Fill,
    Forget,
    Judgement,
    Leave,
    Load,
    Open,
    Slot,
    StorePayload,
    Values,
    ask,
)
from onward.kernel.lineage import Lineage, scope_of
from onward.kernel.messages import CompletionMessage, Ending, Token
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso


class Position(msgspec.Struct, frozen=True):
    """Where a judgement stands: a unit in a scope, with what is known there.

    `unit` is what counts as alive in the scope (a token, an opened merge, a joined split); `by` is
    the message being handled, which may stand somewhere else entirely.
    """

    token: Token
    unit: str
    by: str
    lineage: Lineage
    context: Context
    now_ms: int

    @property
    def scope(self) -> str:
        """Return the scope of this place."""
        return scope_of(self.lineage)


class Edge(msgspec.Struct, frozen=True):
    """One way on: along `edge`, from node `src` to node `dst`."""

    edge: str
    src: str
    dst: str


class Leaf(msgspec.Struct, frozen=True):
    """What a path leaves behind in the root scope."""

    node: str
    order: int
    context: Context


class Hooks(Protocol):
    """What only the language can say about a split of its own."""

    def item_value(self, origin: str, left: dict[str, bytes]) -> bytes:
        """Return the slot value of an item of split node `origin`, from what its units left."""
        ...

    def item_error(self, origin: str, error: bytes) -> bytes:
        """Return the slot value of an item that failed."""
        ...

    def filled(self, origin: Token, slot: Slot, place: Position) -> Judgement[None]:
        """Yield what follows from one more filled slot: progress, and the items it released."""
        ...

    def joined(self, origin: Token, values: list[bytes], place: Position) -> Judgement[None]:
        """Yield what follows a barrier with every slot filled. `place` is where the split stood."""
        ...

    def overspent(self, origin: Token, slot: Slot, place: Position) -> Judgement[None]:
        """Yield what follows a barrier whose failure budget is spent."""
        ...


_leaves = msgspec.json.Decoder(Leaf)


def place_of(token: Token, now_ms: int) -> Position:
    """Return the place of a token that stands for itself."""
    return Position(
        token, token.token_id, token.token_id, token.lineage_stack, token.context, now_ms
    )


def children(position: Position, edges: Iterable[Edge], tag: str) -> list[Token]:
    """Return one token for each edge. Same position, same edges: the same tokens."""
    edges = tuple(edges)
    return [
        position.token.child(
            edge.dst,
            from_node=edge.src,
            edge=edge.edge,
            unit=position.unit,
            tag=tag,
            siblings=len(edges),
            lineage=position.lineage,
            context=position.context,
            now_ms=position.now_ms,
        )
        for edge in edges
    ]


def leaf(node: str, order: int, place: Position) -> bytes:
    """Return what a path that ends at `node` leaves; inside an item nothing need be kept."""
    if place.lineage:
        return b""
    return msgspec.json.encode(Leaf(node, order, place.context))


def leave(hooks: Hooks, place: Position, value: bytes) -> Judgement[None]:
    """The unit at `place` ends here. Whoever is last closes the scope."""
    answer = yield from ask(
        Leave(scope=place.scope, lineage=place.lineage, unit=place.unit, by=place.by, value=value)
    )
    yield from _left(hooks, place, answer)


def finish(hooks: Hooks, place: Position, depth: int) -> Judgement[None]:
    """Repeat what followed when `place.by` closed the scope at `depth`, or the run."""
    place = msgspec.structs.replace(place, lineage=place.lineage[:depth])
    message = yield from ask(Close(by=place.by))
    if message is not None:
        yield from announce(message)
        return
    answer = yield from ask(Leave(scope=place.scope, lineage=place.lineage, unit=None, by=place.by))
    yield from _left(hooks, place, answer)


def _left(
    hooks: Hooks, place: Position, answer: Open | Closed | Aborted | Filed
) -> Judgement[None]:
    split_node = place.lineage[-1].split_node_id if place.lineage else ""
    match answer:
        case Open():
            return
        case Closed(left) if not place.lineage:
            yield from _complete(place, left)
        case Closed(left):
            yield from _fill(hooks, place, hooks.item_value(split_node, left), failed=False)
        case Aborted(error):
            yield from _fill(hooks, place, hooks.item_error(split_node, error), failed=True)
        case Filed():
            yield from _fill(hooks, place, b"null", failed=False)  # the first value stands
        case _:
            assert_never(answer)


def halt(
    hooks: Hooks, place: Position, node: str, error: NodeError, status: Ending
) -> Judgement[None]:
    """A failure that nothing handles: it ends the item it is in, or else the run."""
    if place.lineage:
        body = msgspec.json.encode(error)
        mine = yield from ask(
            Abort(
                scope=place.scope, lineage=place.lineage, unit=place.unit, by=place.by, error=body
            )
        )
        if mine:
            value = hooks.item_error(place.lineage[-1].split_node_id, body)
            yield from _fill(hooks, place, value, failed=True)
        return
    context = yield from flat(place.context)
    message = _completion(place, status, context, error=error, failed_node=node)
    yield from _close(place, message)


def _fill(hooks: Hooks, place: Position, value: bytes, *, failed: bool) -> Judgement[None]:
    frame = place.lineage[-1]
    slot = yield from ask(
        Fill(
            split=frame.split_token,
            index=frame.item_index,
            by=place.by,
            value=value,
            failed=failed,
        )
    )
    if slot is None:
        return
    origin = read_origin(slot.origin)
    outside = split_place(origin, place.by, place.now_ms)
    yield from hooks.filled(origin, slot, outside)
    match slot.verdict:
        case "":
            return
        case "opened":
            values = yield from ask(Values(split=frame.split_token))
            if values is None:
                return  # another worker on the same message was faster
            yield from hooks.joined(origin, values, outside)
        case "failed":
            yield from hooks.overspent(origin, slot, outside)
        case _:
            assert_never(slot.verdict)
    # Last, so that a handler that dies before this point meets the barrier as it left it.
    yield from ask(DiscardSplit(split=frame.split_token))


@lru_cache(maxsize=256)
def read_origin(data: bytes) -> Token:
    """Return the split token kept with its barrier."""
    return msgspec.json.decode(data, type=Token)


def split_place(origin: Token, by: str, now_ms: int) -> Position:
    """Return the place where a split stands while its items run: its own, in the scope outside."""
    return Position(origin, origin.token_id, by, origin.lineage_stack, origin.context, now_ms)


def _complete(place: Position, left: dict[str, bytes]) -> Judgement[None]:
    leaves = sorted(
        ((_leaves.decode(value), unit) for unit, value in left.items() if value),
        key=lambda pair: (pair[0].order, pair[1]),
    )
    context = Context()
    for one, _ in leaves:
        whole = yield from flat(one.context)
        context = context.union(whole)
    nodes = tuple(dict.fromkeys(one.node for one, _ in leaves))
    message = _completion(place, "completed", context, output_nodes=nodes)
    yield from _close(place, message)


def flat(context: Context) -> Judgement[Context]:
    """Return the context without a base: every entry inline or by its own reference."""
    own = Context(context.inline, context.refs)
    if context.base is None:
        return own
    body = yield from ask(Load(ref=context.base))
    base = yield from flat(read_context(bytes(body)))
    return base.union(own)


def _completion(
    place: Position,
    status: Ending,
    context: Context,
    *,
    error: NodeError | None = None,
    failed_node: str = "",
    output_nodes: tuple[str, ...] = (),
) -> CompletionMessage:
    token = place.token
    return CompletionMessage(
        workflow_id=token.workflow_id,
        execution_id=token.execution_id,
        status=status,
        final_context=context.inline,
        context_refs=context.refs,
        completed_at=to_iso(place.now_ms),
        total_duration_ms=max(0, place.now_ms - (token.started_at or place.now_ms)),
        error=error,
        failed_node=failed_node,
        output_nodes=output_nodes,
    )


def _close(place: Position, message: CompletionMessage) -> Judgement[None]:
    small, payloads = _carried(message)
    yield from payloads
    standing = yield from ask(Close(by=place.by, unit=place.unit, message=small))
    if standing is not None:
        yield from announce(standing)


def _carried(message: CompletionMessage) -> tuple[CompletionMessage, list[StorePayload]]:
    """Return the completion small enough to send: large contexts go by reference."""
    context = Context({}, message.context_refs)
    stores: list[StorePayload] = []
    room = CARRIED
    for name, value in sorted(message.final_context.items(), key=lambda item: len(item[1])):
        room -= len(value)
        context, payload = context.add(name, value) if room >= 0 else context.refer(name, value)
        if payload is not None:
            stores.append(StorePayload(payload))
    final = {name: context.inline[name] for name in message.final_context if name in context.inline}
    return (
        msgspec.structs.replace(message, final_context=final, context_refs=context.refs),
        stores,
    )


CARRIED = 4 * 1024 * 1024
"""A completion carries at most this many bytes of context itself."""


def announce(message: CompletionMessage) -> Judgement[None]:
    """Publish the completion, then forget the run."""
    yield Complete(message)
    yield from ask(Forget())


def error_value(error: NodeError) -> Raw:
    """Return what a failed node leaves in the context: `{"error": {...}}`."""
    return Raw(msgspec.json.encode({"error": error}))
