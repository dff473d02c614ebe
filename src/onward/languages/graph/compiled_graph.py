"""The compiled graph: nodes, pairs of splits and aggregators, and how dead edges spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onward.errors import DefinitionError, DocumentProblem
from onward.kernel.flow import Edge
from onward.languages.graph.compiled_node import CompiledNode, compile_node
from onward.languages.graph.model import Document
from onward.languages.graph.structure import analyse
from onward.ports.nodes.node import Catalogue


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """What the judgements of a graph look up; computed once per definition."""

    nodes: Mapping[str, CompiledNode]
    entries: tuple[str, ...]
    triggers: tuple[str, ...]
    ways: Mapping[str, Edge]
    aggregators: Mapping[str, tuple[str, ...]]
    """Split node -> the aggregators that gather its items."""
    marking: frozenset[str]
    """Edges from which a merge of the same region can be reached: only these are ever marked."""
    beyond: Mapping[str, tuple[str, ...]]
    """Node -> the edges that die with it."""
    merges: tuple[str, ...]
    """In topological order."""

    def dead_edges(self, edges: frozenset[str]) -> frozenset[str]:
        """Return everything that is dead when `edges` are: closed over, marked edges only."""
        dead = set(edges)
        todo = list(edges)
        while todo:
            node = self.ways[todo.pop()].dst
            if all(edge in dead for edge in self.nodes[node].into):
                more = [edge for edge in self.beyond[node] if edge not in dead]
                more = [edge for edge in more if edge in self.marking]
                dead.update(more)
                todo += more
        return frozenset(dead)

    def after_split(self, split: str) -> tuple[Edge, ...]:
        """Return the edges from the aggregators of a split: where a run continues after it."""
        return tuple(way for name in self.aggregators[split] for way in self.nodes[name].success)


def compile_wiring(document: Document, catalogue: Catalogue) -> CompiledGraph:
    """Return the wiring of a checked document; DefinitionError for one that is not runnable."""
    structure = analyse(document)
    aliases = {node.name: node.id for node in document.nodes if node.name}
    aliases |= {node.id: node.id for node in document.nodes}
    order = {node: index for index, node in enumerate(structure.order)}
    nodes = {}
    for node in document.nodes:
        try:
            nodes[node.id] = compile_node(node, order[node.id], structure, catalogue, aliases)
        except LookupError:
            problem = DocumentProblem(
                "UNKNOWN_TYPE", f"node {node.id!r} has unknown type {node.type!r}"
            )
            raise DefinitionError([problem]) from None
    return CompiledGraph(
        nodes=nodes,
        entries=structure.entries,
        triggers=tuple(name for name in structure.entries if nodes[name].trigger),
        ways={way.edge: way for node in nodes.values() for way in (*node.success, *node.error)},
        aggregators={
            name: structure.aggregators_of(name)
            for name, node in nodes.items()
            if node.kind == "split"
        },
        marking=structure.towards_merges(),
        beyond={name: tuple(edge.id for edge in structure.beyond(name)) for name in nodes},
        merges=tuple(name for name in structure.order if nodes[name].kind == "merge"),
    )
