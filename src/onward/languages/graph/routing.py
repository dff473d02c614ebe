"""Routing from a node: take edges, mark the others dead, open the merges that this completes."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, read_context
from onward.kernel.effects import (
    CancelTimer,
    DiscardMerge,
    Judgement,
    Load,
    Opened,
    Publish,
    Report,
    Skip,
    StorePayload,
    TryOpen,
    ask,
)
from onward.kernel.flow import Edge, Hooks, Position, children_of, flatten, leaf_of, leave
from onward.kernel.ids import derive
from onward.kernel.json import NULL, join_array
from onward.languages.graph.compiled_graph import CompiledGraph
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.control_nodes import MergeNode


@dataclass(frozen=True, slots=True)
class Graph:
    """What the judgements of a graph share."""

    wiring: CompiledGraph
    page: int
    """How many items of a split one message sends at most."""
    hooks: Hooks
    """What the kernel asks a program about its splits."""


def take_edges(
    graph: Graph,
    position: Position,
    node: CompiledNode,
    taken: tuple[Edge, ...],
    tag: str,
    also: tuple[Edge, ...] = (),
) -> Judgement[None]:
    """Take `taken` from `node`; every other edge that leaves it, or is in `also`, is dead.

    Dead edges first: once the only child is claimed a redelivery of this step does nothing more,
    so what else it owes must be done before.
    """
    yield from skip(graph, position, (*edges_after(graph, node), *node.error, *also), taken)
    yield from publish(position, taken, tag)
    if not taken:
        yield from leave(graph.hooks, position, leaf_of(node.id, node.order, position))


def edges_after(graph: Graph, node: CompiledNode) -> tuple[Edge, ...]:
    """Return the edges after a node that succeeded: those of a split start at its aggregators."""
    return graph.wiring.after_split(node.id) if node.kind == "split" else node.success


def publish(position: Position, ways: tuple[Edge, ...], tag: str) -> Judgement[None]:
    """Publish one token for each edge, with a context that fits a message."""
    context, payload = position.context.compact()
    if payload is not None:
        yield StorePayload(payload)
        position = msgspec.structs.replace(position, context=context)
    for child in children_of(position, ways, tag):
        yield Publish(child)


def skip(
    graph: Graph, position: Position, leaving: tuple[Edge, ...], taken: tuple[Edge, ...]
) -> Judgement[None]:
    """Mark the edges of `leaving` that are not taken, and what dies with them.

    Monotone: add, read back what others have added, close over it, until nothing is new. So two
    decisions made at the same time agree in the end, whichever is second.
    """
    wiring = graph.wiring
    untaken = frozenset(way.edge for way in leaving if way not in taken) & wiring.marking
    if not untaken:
        return
    known: frozenset[str] = frozenset()
    dead = wiring.dead_edges(untaken)
    while not dead <= known:
        known = yield from ask(Skip(scope=position.scope, edges=dead))
        dead = wiring.dead_edges(known)
    for name in wiring.merges:
        merge = wiring.nodes[name]
        if any(edge in known for edge in merge.into):
            opened = yield from ask(
                TryOpen(
                    scope=position.scope,
                    node=name,
                    by=position.by,
                    expected=merge.into,
                    quota=quota(merge),
                )
            )
            if opened is not None:
                yield from open_merge(graph, position, merge, opened)


def quota(merge: CompiledNode) -> int | None:
    """Return how many arrivals open a merge; None when it waits for all."""
    match merge.join:
        case MergeNode(wait_mode="wait_for_any"):
            return 1
        case MergeNode(wait_mode="wait_for_n", n=n):
            return n
        case _:
            return None


def merge_unit(position: Position, merge: CompiledNode) -> str:
    """Return the unit that what arrived at a merge becomes when it opens."""
    return derive(position.token.stem, position.scope, merge.id, "merge")


def merge_timer(position: Position, merge: CompiledNode) -> str:
    """Return the id of the timer of a merge's deadline."""
    return derive(merge_unit(position, merge), "timeout")


def open_merge(
    graph: Graph, position: Position, merge: CompiledNode, opened: Opened
) -> Judgement[None]:
    """A merge opened: its output lists what arrived in edge order, its context unites it."""
    arrived = {edge: read_context(data) for edge, data in opened.arrivals.items()}
    outputs = []
    for edge in merge.into:
        if edge in arrived:
            src = graph.wiring.ways[edge].src
            outputs.append((yield from output_of(graph, arrived[edge], src)))
    output = join_array(outputs)
    context = yield from unite_contexts([arrived[edge] for edge in merge.into if edge in arrived])
    position = msgspec.structs.replace(position, unit=merge_unit(position, merge), context=context)
    position = yield from with_output(position, merge.id, output)
    yield Report(
        token=position.token,
        node=merge.id,
        status="success",
        lineage=position.lineage,
        output=output,
    )
    if merge.join_timeout_s is not None:
        yield CancelTimer(merge_timer(position, merge))
    yield from take_edges(graph, position, merge, merge.success, "opened")
    yield from ask(DiscardMerge(scope=position.scope, node=merge.id, expected=merge.into))


def unite_contexts(contexts: list[Context]) -> Judgement[Context]:
    """Return the entries of all contexts; where several have one, the last wins.

    Branches that grew large have bases of their own. A context has one, so then they are opened up.
    """
    if len({context.base for context in contexts if context.base}) > 1:
        opened = []
        for context in contexts:
            opened.append((yield from flatten(context)))
        contexts = opened
    whole = Context()
    for context in contexts:
        whole = whole.union(context)
    return whole


def output_of(graph: Graph, context: Context, node: str) -> Judgement[bytes]:
    """Return what `node` put into `context`, loading it if it is not carried there itself."""
    name = "$item" if graph.wiring.nodes[node].kind == "split" else f"${node}"
    while name not in context.names() and context.base is not None:
        body = yield from ask(Load(ref=context.base))
        context = read_context(bytes(body))
    if name in context.refs:
        body = yield from ask(Load(ref=context.refs[name]))
        return bytes(body)
    return bytes(context.inline.get(name, NULL))


def with_output(position: Position, node: str, output: Raw) -> Judgement[Position]:
    """Return the place with one more output in its context, stored if it is large."""
    context, payload = position.context.add(f"${node}", output)
    if payload is not None:
        yield StorePayload(payload)
    return msgspec.structs.replace(position, context=context)
