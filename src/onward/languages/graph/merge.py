"""Merges: record an arrival, and what follows when the merge opens or its deadline passes."""

from __future__ import annotations

from typing import assert_never

import msgspec

from onward.kernel.context import read_context
from onward.kernel.effects import (
    Arrive,
    DiscardMerge,
    ExpireMerge,
    Judgement,
    Late,
    Opened,
    Pending,
    Report,
    SetTimer,
    ask,
)
from onward.kernel.flow import Position, leave, position_of
from onward.kernel.ids import derive
from onward.kernel.messages import Token
from onward.kernel.outcome import NodeError
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.failure import recover
from onward.languages.graph.routing import (
    Graph,
    merge_timer,
    merge_unit,
    open_merge,
    quota,
    unite_contexts,
)


def arrive(graph: Graph, position: Position, node: CompiledNode) -> Judgement[None]:
    """Record that a token reached a merge by its edge."""
    answer = yield from ask(
        Arrive(
            scope=position.scope,
            node=node.id,
            edge=position.token.from_edge,
            unit=position.unit,
            by=position.by,
            payload=msgspec.json.encode(position.context),
            expected=node.into,
            quota=quota(node),
        )
    )
    match answer:
        case Opened():
            yield from open_merge(graph, position, node, answer)
        case Late():
            yield from leave(graph.hooks, position, b"")
        case Pending(arrived):
            yield from _wait(position, node, arrived)
        case _:
            assert_never(answer)


def _wait(position: Position, node: CompiledNode, arrived: int) -> Judgement[None]:
    yield Report(
        token=position.token,
        node=node.id,
        status="waiting",
        lineage=position.lineage,
        details={"arrived": arrived, "expected": len(node.into)},
    )
    timeout_s = node.join_timeout_s
    if timeout_s is None:
        return
    timer_id = merge_timer(position, node)
    timer = msgspec.structs.replace(
        position.token,
        signal="timeout",
        token_id=timer_id,
        publish_id="",
        parent=derive(timer_id, "parent"),
        outcome="timeout",
        siblings=1,
    )
    yield SetTimer(timer, position.now_ms + round(1000 * timeout_s))


def expire(graph: Graph, token: Token, now_ms: int) -> Judgement[None]:
    """Fail a merge whose deadline has passed; its context unites the branches that arrived."""
    node = graph.wiring.nodes[token.current_node]
    position = position_of(token, now_ms)
    opened = yield from ask(
        ExpireMerge(scope=position.scope, node=node.id, by=token.token_id, expected=node.into)
    )
    if opened is None:
        return
    arrived = [read_context(opened.arrivals[edge]) for edge in node.into if edge in opened.arrivals]
    context = yield from unite_contexts(arrived)
    position = msgspec.structs.replace(position, unit=merge_unit(position, node), context=context)
    error = NodeError(
        f"{len(opened.arrivals)} of {len(node.into)} branches had arrived "
        f"after {node.join_timeout_s:g} s",
        "MERGE_TIMEOUT",
    )
    yield Report(token=token, node=node.id, status="failed", lineage=position.lineage, error=error)
    yield from recover(graph, position, node, error)
    yield from ask(DiscardMerge(scope=position.scope, node=node.id, expected=node.into))
