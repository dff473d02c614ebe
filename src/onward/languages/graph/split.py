"""Splits: send the items, in pages and within the window; join what comes back.

A split's own token stays alive in its scope while its items run, each in a scope of its own. When
the last slot is filled the token continues at the aggregators, with the split's own context and one
list for each of them.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, payload_of
from onward.kernel.effects import (
    CancelTimer,
    DiscardSplit,
    Items,
    Judgement,
    Overdue,
    Publish,
    Report,
    Scatter,
    SetTimer,
    Slot,
    StorePayload,
    ask,
)
from onward.kernel.flow import (
    Edge,
    Position,
    children_of,
    leaf_of,
    leave,
    read_origin,
    split_position,
)
from onward.kernel.ids import derive
from onward.kernel.json import NULL, encode, join_array
from onward.kernel.messages import Progress, Token, item_frame
from onward.kernel.outcome import NodeError, Scattered
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.failure import recover
from onward.languages.graph.routing import Graph, publish, skip, with_output

ALWAYS_REPORTED = 200
"""Splits of up to this many items report their progress after each."""

_values = msgspec.json.Decoder(dict[str, Raw])


def scatter(
    graph: Graph, position: Position, node: CompiledNode, found: Scattered
) -> Judgement[None]:
    """Open the barrier of a split and send its first items."""
    total = len(found.items) if node.success else 0
    if not total:
        yield from _after(graph, position, node, [])
        return
    yield Report(
        token=position.token,
        node=node.id,
        status="waiting",
        lineage=position.lineage,
        details={"items": total},
    )
    raw = [encode(item) for item in found.items]
    origin = yield from _origin(position, raw, min(total, found.window), graph.page)
    sending = yield from ask(
        Scatter(
            scope=position.scope,
            lineage=position.lineage,
            split=position.unit,
            total=total,
            window=found.window,
            budget=found.budget,
            origin=msgspec.json.encode(origin),
        )
    )
    if not sending:
        return
    for name in graph.wiring.aggregators[node.id]:
        timeout_s = graph.wiring.nodes[name].join_timeout_s
        if timeout_s is not None:
            yield SetTimer(_timer(origin, name), position.now_ms + round(1000 * timeout_s))
    yield from _send(graph, origin, position, raw[: origin.span[0]], 0, total)
    yield from _next_page(origin, position)


def _origin(position: Position, raw: list[Raw], first: int, page: int) -> Judgement[Token]:
    """Return the split's token as its barrier stores it: context shared, items by reference."""
    context, payload = position.context.freeze()
    if payload is not None:
        yield StorePayload(payload)
    items_ref = None
    if len(raw) > min(page, first):
        array = payload_of(join_array([bytes(item) for item in raw]))
        yield StorePayload(array)
        items_ref = array.ref
    return msgspec.structs.replace(
        position.token,
        workflow_definition=msgspec.UNSET,
        accumulated_context=context.inline,
        context_refs=context.refs,
        context_base=context.base,
        items_ref=items_ref,
        span=(min(page, first), first, len(raw)),
    )


def send_page(graph: Graph, token: Token, now_ms: int) -> Judgement[None]:
    """Send the next page of a split that has more items."""
    start, end, total = token.span
    count = min(graph.page, end - start)
    origin = msgspec.structs.replace(
        token, token_id=token.from_edge, span=(start + count, end, total)
    )
    position = Position(
        origin, origin.token_id, token.token_id, token.lineage_stack, token.context, now_ms
    )
    yield from _send_stored(graph, origin, position, start, count, total)
    yield from _next_page(origin, position)


def _next_page(origin: Token, position: Position) -> Judgement[None]:
    start, end, _ = origin.span
    if start >= end:
        return
    parent = derive(position.unit, "page", start)
    yield Publish(
        msgspec.structs.replace(
            origin,
            signal="page",
            token_id=derive(parent, "token"),
            publish_id="",
            parent=parent,
            outcome="page",
            siblings=1,
            from_edge=position.unit,  # a page has no edge; this names the split that it sends for
            sent_at=position.now_ms,
        )
    )


def _send_stored(
    graph: Graph, origin: Token, position: Position, start: int, count: int, total: int
) -> Judgement[None]:
    if origin.items_ref is None or not count:
        return
    raw = yield from ask(Items(ref=origin.items_ref, start=start, count=count))
    yield from _send(graph, origin, position, raw, start, total)


def _send(
    graph: Graph, origin: Token, position: Position, raw: list[Raw], start: int, total: int
) -> Judgement[None]:
    """Publish the items `start`, `start + 1` ...: each a scope that begins at the split's edges."""
    node = graph.wiring.nodes[origin.current_node]
    base = origin.context
    for index, item in enumerate(raw, start):
        context, payload = base.add("$item", item)
        if payload is not None:
            yield StorePayload(payload)
        context = Context(
            {**context.inline, "$index": Raw(str(index).encode())}, context.refs, context.base
        )
        frame = item_frame(origin.execution_id, position.unit, node.id, index, total)
        unit = derive(position.unit, "item", index)
        inside = Position(
            origin, unit, position.by, (*origin.lineage_stack, frame), context, position.now_ms
        )
        for child in children_of(inside, node.success, "item"):
            yield Publish(child)


def after_fill(graph: Graph, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
    """Report the progress of the aggregators after one more slot, and send what it released.

    Large splits report every hundredth: one report for each item would be as many as their items.
    """
    reports = slot.total <= ALWAYS_REPORTED or not slot.filled % (slot.total // 100)
    for name in graph.wiring.aggregators[origin.current_node] if reports else ():
        yield Report(
            token=origin,
            node=name,
            status="waiting",
            lineage=position.lineage,
            progress=Progress(slot.filled, slot.total, slot.failed),
            merge_key=derive(origin.token_id, name),
        )
    yield from _send_stored(graph, origin, position, slot.start, slot.count, slot.total)


def after_join(
    graph: Graph, origin: Token, values: list[bytes], position: Position
) -> Judgement[None]:
    """Continue after the aggregators: every slot is filled."""
    node = graph.wiring.nodes[origin.current_node]
    yield from _cancel_timers(graph, origin)
    yield from _after(graph, position, node, values)


def _after(
    graph: Graph, position: Position, split: CompiledNode, values: list[bytes]
) -> Judgement[None]:
    names = graph.wiring.aggregators[split.id]
    yield Report(
        token=position.token,
        node=split.id,
        status="success",
        lineage=position.lineage,
        details={"items": len(values)},
    )
    for name, output in zip(names, _lists(names, values), strict=True):
        position = yield from with_output(position, name, output)
        yield Report(
            token=position.token,
            node=name,
            status="success",
            lineage=position.lineage,
            output=output,
            progress=Progress(len(values), len(values)),
        )
    taken = graph.wiring.after_split(split.id)
    yield from skip(graph, position, (*split.error, *_outer_errors(graph, split)), ())
    yield from publish(position, taken, "joined")
    if not taken:
        last = graph.wiring.nodes[names[-1]] if names else split
        yield from leave(graph.hooks, position, leaf_of(last.id, last.order, position))


def _lists(names: tuple[str, ...], values: list[bytes]) -> list[Raw]:
    if len(names) == 1:
        return [join_array(values)]
    rows = [_values.decode(value) for value in values]
    return [join_array([bytes(row.get(name, NULL)) for row in rows]) for name in names]


def item_value(graph: Graph, split: str, left: dict[str, bytes]) -> bytes:
    """Return an item's slot: for each aggregator the value that came by its first edge, or null."""
    best: dict[str, tuple[int, Raw]] = {}
    for value in left.values():
        if value:
            name, rank, raw = msgspec.json.decode(value, type=tuple[str, int, Raw])
            if name not in best or rank < best[name][0]:
                best[name] = (rank, raw)
    names = graph.wiring.aggregators[split]
    if len(names) == 1:
        return bytes(best[names[0]][1]) if best else b"null"
    return msgspec.json.encode({name: raw for name, (_, raw) in best.items()})


def arrival(node: CompiledNode, edge: str, value: object) -> bytes:
    """Return what a token leaves behind when it reaches an aggregator by `edge`."""
    rank = node.into.index(edge) if edge in node.into else len(node.into)
    return msgspec.json.encode((node.id, rank, encode(value)))


def item_error(graph: Graph, split: str, error: bytes) -> bytes:
    """Return the slot of a failed item: `{"error": {...}}` at every aggregator."""
    value = b'{"error":' + error + b"}"
    names = graph.wiring.aggregators[split]
    if len(names) == 1:
        return value
    return msgspec.json.encode({name: Raw(value) for name in names})


def after_overspend(graph: Graph, origin: Token, slot: Slot, position: Position) -> Judgement[None]:
    """Fail a split with more failed items than it tolerates."""
    node = graph.wiring.nodes[origin.current_node]
    error = NodeError(
        f"{slot.failed} of {slot.total} items failed, more than the split tolerates",
        "SPLIT_FAILED",
        {"failed": slot.failed, "filled": slot.filled, "total": slot.total},
    )
    yield Report(token=origin, node=node.id, status="failed", lineage=position.lineage, error=error)
    yield from _cancel_timers(graph, origin)
    yield from recover(graph, position, node, error, _outer_errors(graph, node))


def _outer_errors(graph: Graph, split: CompiledNode) -> tuple[Edge, ...]:
    names = graph.wiring.aggregators[split.id]
    return tuple(way for name in names for way in graph.wiring.nodes[name].error)


def expire(graph: Graph, token: Token, now_ms: int) -> Judgement[None]:
    """Fail an aggregator whose deadline has passed, in the scope outside the items."""
    data = yield from ask(Overdue(split=token.from_edge, by=token.token_id))
    if data is None:
        return
    origin = read_origin(data)
    position = split_position(origin, token.token_id, now_ms)
    node = graph.wiring.nodes[token.current_node]
    split = graph.wiring.nodes[origin.current_node]
    error = NodeError(
        f"not every item had arrived after {node.join_timeout_s:g} s", "AGGREGATOR_TIMEOUT"
    )
    yield Report(token=origin, node=node.id, status="failed", lineage=position.lineage, error=error)
    yield from _cancel_timers(graph, origin)
    others = (*graph.wiring.after_split(split.id), *_outer_errors(graph, split), *split.error)
    also = tuple(way for way in others if way.src != node.id)
    yield from recover(graph, position, node, error, also)
    yield from ask(DiscardSplit(split=token.from_edge))


def _timer(origin: Token, aggregator: str) -> Token:
    """Return the token of an aggregator's deadline."""
    parent = derive(origin.token_id, "timeout", aggregator)
    return msgspec.structs.replace(
        origin,
        current_node=aggregator,
        signal="timeout",
        token_id=derive(parent, "token"),
        publish_id="",
        parent=parent,
        outcome="timeout",
        siblings=1,
        from_edge=origin.token_id,
        accumulated_context={},
        context_refs={},
        context_base=None,
        items_ref=None,
    )


def _cancel_timers(graph: Graph, origin: Token) -> Judgement[None]:
    for name in graph.wiring.aggregators[origin.current_node]:
        if graph.wiring.nodes[name].join_timeout_s is not None:
            yield CancelTimer(_timer(origin, name).token_id)
