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
    Fill,
    Forget,
    Judgement,
    Leave,
    Load,
    Open,
    Slot,
    SlotFilled,
    StorePayload,
    Values,
    ask,
)
from onward.kernel.lineage import Lineage, scope_of
from onward.kernel.messages import CompletionMessage, Ending, Token
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso


class Position(msgspec.Struct, frozen=True):
    """Where a judgement stands: a unit in a scope, with the context known there.

    `unit` is what counts as alive in the scope (a token, an opened merge, a joined split); `by` is
    the message being handled, which may belong to another scope.
    """

    token: Token
    unit: str
    by: str
    lineage: Lineage
    context: Context
    now_ms: int

    @property
    def scope(self) -> str:
        """Return the scope of the unit."""
        return scope_of(self.lineage)


class Edge(msgspec.Struct, frozen=True):
    """An edge that is taken: `edge`, from node `src` to node `dst`."""

    edge: str
    src: str
    dst: str


class Leaf(msgspec.Struct, frozen=True):
    """The end of a path in the root scope: its node and its context."""

    node: str
    order: int
    context: Context


class Hooks(Protocol):
    """The decisions about a split that only the language of its document can make."""

    def item_value(self, origin: str, left: dict[str, bytes]) -> bytes:
        """Return the slot value of an item of split node `origin`, from what its units left."""
        ...

    def item_error(self, origin: str, error: bytes) -> bytes:
        """Return the slot value of an item that failed."""
        ...

    def after_fill(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield what follows from one more filled slot: progress, and the items it released."""
        ...

    def after_join(self, origin: Token, values: list[bytes], position: Position) -> Judgement[None]:
        """Yield what follows a barrier with every slot filled. `position` is the split's own."""
        ...

    def after_overspend(self, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
        """Yield what follows a barrier whose failure budget is exceeded."""
        ...


MAX_CARRIED_BYTES = 4 * 1024 * 1024
"""A completion carries at most this many bytes of context itself."""

_leaves = msgspec.json.Decoder(Leaf)


def position_of(token: Token, now_ms: int) -> Position:
    """Return the position of a token that is its own unit."""
    return Position(
        token, token.token_id, token.token_id, token.lineage_stack, token.context, now_ms
    )


def children_of(position: Position, edges: Iterable[Edge], tag: str) -> list[Token]:
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


def leaf_of(node: str, order: int, position: Position) -> bytes:
    """Return the value of a path that ends at `node`; inside an item none is needed."""
    if position.lineage:
        return b""
    return msgspec.json.encode(Leaf(node, order, position.context))


def leave(hooks: Hooks, position: Position, value: bytes) -> Judgement[None]:
    """End the unit at `position`. The last one of a scope closes it."""
    answer = yield from ask(
        Leave(
            scope=position.scope,
            lineage=position.lineage,
            unit=position.unit,
            by=position.by,
            value=value,
        )
    )
    yield from _follow(hooks, position, answer)


def finish(hooks: Hooks, position: Position, depth: int) -> Judgement[None]:
    """Repeat what followed when `position.by` closed the scope at `depth`, or the run."""
    position = msgspec.structs.replace(position, lineage=position.lineage[:depth])
    message = yield from ask(Close(by=position.by))
    if message is not None:
        yield from announce(message)
        return
    answer = yield from ask(
        Leave(scope=position.scope, lineage=position.lineage, unit=None, by=position.by)
    )
    yield from _follow(hooks, position, answer)


def _follow(
    hooks: Hooks, position: Position, answer: Open | Closed | Aborted | SlotFilled
) -> Judgement[None]:
    split_node = position.lineage[-1].split_node_id if position.lineage else ""
    match answer:
        case Open():
            return
        case Closed(left) if not position.lineage:
            yield from _complete(position, left)
        case Closed(left):
            yield from _fill(hooks, position, hooks.item_value(split_node, left), failed=False)
        case Aborted(error):
            yield from _fill(hooks, position, hooks.item_error(split_node, error), failed=True)
        case SlotFilled():
            yield from _fill(hooks, position, b"null", failed=False)  # the first value stands
        case _:
            assert_never(answer)


def halt(
    hooks: Hooks, position: Position, node: str, error: NodeError, status: Ending
) -> Judgement[None]:
    """End the item that `position` is in, or else the run: nothing handles this failure."""
    if position.lineage:
        body = msgspec.json.encode(error)
        mine = yield from ask(
            Abort(
                scope=position.scope,
                lineage=position.lineage,
                unit=position.unit,
                by=position.by,
                error=body,
            )
        )
        if mine:
            value = hooks.item_error(position.lineage[-1].split_node_id, body)
            yield from _fill(hooks, position, value, failed=True)
        return
    context = yield from flatten(position.context)
    message = _completion(position, status, context, error=error, failed_node=node)
    yield from _close(position, message)


def _fill(hooks: Hooks, position: Position, value: bytes, *, failed: bool) -> Judgement[None]:
    frame = position.lineage[-1]
    slot = yield from ask(
        Fill(
            split=frame.split_token,
            index=frame.item_index,
            by=position.by,
            value=value,
            failed=failed,
        )
    )
    if slot is None:
        return
    origin = read_origin(slot.origin)
    outside = split_position(origin, position.by, position.now_ms)
    yield from hooks.after_fill(origin, slot, outside)
    match slot.verdict:
        case "":
            return
        case "opened":
            values = yield from ask(Values(split=frame.split_token))
            if values is None:
                return  # another worker on the same message was faster
            yield from hooks.after_join(origin, values, outside)
        case "failed":
            yield from hooks.after_overspend(origin, slot, outside)
        case _:
            assert_never(slot.verdict)
    # Last, so that a handler that dies before this point meets the barrier as it left it.
    yield from ask(DiscardSplit(split=frame.split_token))


@lru_cache(maxsize=256)
def read_origin(data: bytes) -> Token:
    """Return the split's token, which is saved with its barrier."""
    return msgspec.json.decode(data, type=Token)


def split_position(origin: Token, by: str, now_ms: int) -> Position:
    """Return the position of a split while its items run: in the scope outside of them."""
    return Position(origin, origin.token_id, by, origin.lineage_stack, origin.context, now_ms)


def _complete(position: Position, left: dict[str, bytes]) -> Judgement[None]:
    leaves = sorted(
        ((_leaves.decode(value), unit) for unit, value in left.items() if value),
        key=lambda pair: (pair[0].order, pair[1]),
    )
    context = Context()
    for leaf, _ in leaves:
        whole = yield from flatten(leaf.context)
        context = context.union(whole)
    nodes = tuple(dict.fromkeys(leaf.node for leaf, _ in leaves))
    message = _completion(position, "completed", context, output_nodes=nodes)
    yield from _close(position, message)


def flatten(context: Context) -> Judgement[Context]:
    """Return the context without a base: every entry inline or by its own reference."""
    own = Context(context.inline, context.refs)
    if context.base is None:
        return own
    body = yield from ask(Load(ref=context.base))
    base = yield from flatten(read_context(bytes(body)))
    return base.union(own)


def _completion(
    position: Position,
    status: Ending,
    context: Context,
    *,
    error: NodeError | None = None,
    failed_node: str = "",
    output_nodes: tuple[str, ...] = (),
) -> CompletionMessage:
    token = position.token
    return CompletionMessage(
        workflow_id=token.workflow_id,
        execution_id=token.execution_id,
        status=status,
        final_context=context.inline,
        context_refs=context.refs,
        completed_at=to_iso(position.now_ms),
        total_duration_ms=max(0, position.now_ms - (token.started_at or position.now_ms)),
        error=error,
        failed_node=failed_node,
        output_nodes=output_nodes,
    )


def _close(position: Position, message: CompletionMessage) -> Judgement[None]:
    small, payloads = _within_limit(message)
    yield from payloads
    standing = yield from ask(Close(by=position.by, unit=position.unit, message=small))
    if standing is not None:
        yield from announce(standing)


def _within_limit(message: CompletionMessage) -> tuple[CompletionMessage, list[StorePayload]]:
    """Return the completion small enough to send, with what to store: large entries are refs."""
    context = Context({}, message.context_refs)
    stores: list[StorePayload] = []
    room = MAX_CARRIED_BYTES
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


def announce(message: CompletionMessage) -> Judgement[None]:
    """Publish the completion, then drop the state of the run."""
    yield Complete(message)
    yield from ask(Forget())


def error_value_of(error: NodeError) -> Raw:
    """Return the context entry of a failed node: `{"error": {...}}`."""
    return Raw(msgspec.json.encode({"error": error}))
