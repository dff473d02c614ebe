"""Which nodes follow which in a graph, and where two graphs differ: for partial reruns."""

from __future__ import annotations

from dataclasses import replace

from onward.languages.graph.compiled_graph import CompiledGraph
from onward.languages.graph.model import Document, NodeDocument

_Seen = tuple[NodeDocument, frozenset[tuple[str, str]]]


def followers_of(wiring: CompiledGraph) -> dict[str, frozenset[str]]:
    """Return every node with all nodes that may follow it."""
    ahead: dict[str, set[str]] = {name: set() for name in wiring.nodes}
    for way in wiring.ways.values():
        ahead[way.src].add(way.dst)
    found: dict[str, frozenset[str]] = {}
    for name in sorted(wiring.nodes, key=lambda name: wiring.nodes[name].order, reverse=True):
        found[name] = frozenset(ahead[name]).union(*(found[follower] for follower in ahead[name]))
    return found


def tolerant_nodes(wiring: CompiledGraph) -> frozenset[str]:
    """Return the nodes whose failure does not halt the graph.

    Not aggregators: one that fails on an item's data fails that item, whatever its policy.
    """
    return frozenset(
        name
        for name, node in wiring.nodes.items()
        if node.policy.type != "halt" and node.kind != "aggregator"
    )


def changed_nodes(before: Document, after: Document) -> frozenset[str]:
    """Return the nodes that differ between two graphs, or are reached by other edges."""
    then, now = _nodes(before), _nodes(after)
    return frozenset(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _nodes(graph: Document) -> dict[str, _Seen]:
    into: dict[str, set[tuple[str, str]]] = {node.id: set() for node in graph.nodes}
    for edge in graph.edges:
        into[edge.dst].add((edge.id, edge.src))
    return {
        node.id: (replace(node, name="", position=None), frozenset(into[node.id]))
        for node in graph.nodes
    }
