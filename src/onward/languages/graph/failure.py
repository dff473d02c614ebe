"""A node that failed for good: halt, ignore or branch."""

from __future__ import annotations

from typing import assert_never

from onward.kernel.effects import Judgement
from onward.kernel.flow import Edge, Position, error_value_of, halt
from onward.kernel.messages import Ending
from onward.kernel.outcome import NodeError
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.routing import Graph, edges_after, take_edges, with_output

TIMED_OUT = frozenset({"MERGE_TIMEOUT", "AGGREGATOR_TIMEOUT"})


def recover(
    graph: Graph,
    position: Position,
    node: CompiledNode,
    error: NodeError,
    also: tuple[Edge, ...] = (),
) -> Judgement[None]:
    """Follow the node's error policy. The error is in the context of the next nodes."""
    position = yield from with_output(position, node.id, error_value_of(error))
    match node.policy.type:
        case "halt":
            yield from halt(graph.hooks, position, node.id, error, ending_of(error))
        case "ignore" | "branch":
            taken = edges_despite(graph, node)
            yield from take_edges(graph, position, node, taken, tag_of(node), also)
        case _:
            assert_never(node.policy.type)


def tag_of(node: CompiledNode) -> str:
    """Return the name of the outcome that the node's error policy makes of a failure."""
    return f"failed:{node.policy.type}"


def ending_of(error: NodeError) -> Ending:
    """Return how a run ends by an `error` that nothing handled: a time-out is not a halt."""
    return "failed" if error.code in TIMED_OUT else "halted"


def edges_despite(graph: Graph, node: CompiledNode) -> tuple[Edge, ...]:
    """Return the edges to take from a failed node, by its policy.

    A decision that could not be made and is ignored takes its other side: false, or the default.
    """
    if node.policy.type == "halt":
        return ()
    if node.policy.type == "branch":
        return tuple(way for way in node.error if way.edge == node.policy.error_edge)
    if node.kind in ("conditional", "switch"):
        return tuple(way for way in node.success if way.edge == node.fallback_edge)
    return edges_after(graph, node)
