"""Names in expressions: nodes that exist, have run by then, and are in scope."""

from __future__ import annotations

from onward.languages.document.problems import Findings, quote, suggest
from onward.languages.graph.check.parameters import Use
from onward.languages.graph.document_shape import VARIABLES
from onward.languages.graph.model import NodeDocument
from onward.languages.graph.structure import Stack, Structure

_JQ_OWN = ("__loc__", "__prog_args")


class ReferenceCheck:
    """Judges what the expressions of one document name."""

    def __init__(self, structure: Structure, findings: Findings) -> None:
        self.structure = structure
        self.findings = findings
        self.position = {node: index for index, node in enumerate(structure.order)}
        self.ancestors = _ancestors(structure, self.position)
        self.by_name: dict[str, list[str]] = {}
        for node in structure.nodes.values():
            self.by_name.setdefault(node.name, []).append(node.id)

    def check(self, node: NodeDocument, use: Use) -> None:
        """Report what is wrong with the names that one expression of `node` uses."""
        for name in sorted(use.names - set(_JQ_OWN)):
            if name in self.structure.nodes:
                self._check_seen(node, name, f"${name}", use.at)
            elif name in ("item", "index"):
                self._check_inside_split(node, name, use.at)
            elif name not in VARIABLES:
                self._unknown(node, name, use.at)
        for name in sorted(use.nodes):
            self._check_node_reference(node, name, use.at)

    def _check_node_reference(self, node: NodeDocument, name: str, at: str) -> None:
        shown = f"$node[{quote(name)}]"
        named = self.by_name.get(name, [])
        if name in self.structure.nodes:
            self._check_seen(node, name, shown, at)
        elif len(named) > 1:
            message = (
                f"node {quote(node.id)} uses {shown}, and {len(named)} nodes have that name: "
                f"{', '.join(map(quote, named))}"
            )
            self.findings.error("AMBIGUOUS_NAME", message, at=at, hint="use the node's id")
        elif named:
            self._check_seen(node, named[0], shown, at)
        else:
            hint = suggest(name, (*self.structure.nodes, *self.by_name)) or "check the name"
            message = f"node {quote(node.id)} uses {shown}, and no node has that id or name"
            self.findings.error("UNKNOWN_NODE", message, at=at, hint=hint)

    def _unknown(self, node: NodeDocument, name: str, at: str) -> None:
        dashed = next((other for other in self.structure.nodes if other.startswith(f"{name}-")), "")
        if dashed:
            hint = f"an id with a dash is written $node[{quote(dashed)}]"
        elif name in self.by_name:
            hint = f"use the id, ${self.by_name[name][0]}"
        else:
            hint = suggest(name, (*self.structure.nodes, *VARIABLES))
            hint = hint or "write $$ for a plain $ in text"
        message = f"node {quote(node.id)} uses ${name}, and no node has that id"
        self.findings.error("UNKNOWN_NODE", message, at=at, hint=hint)

    def _check_inside_split(self, node: NodeDocument, name: str, at: str) -> None:
        if () in self.structure.regions.get(node.id, ()):
            message = f"node {quote(node.id)} uses ${name} outside a split, where it is null"
            hint = "move the node between a split and its aggregator"
            self.findings.warning("NOT_IN_SPLIT", message, at=at, hint=hint)

    def _check_seen(self, node: NodeDocument, other: str, shown: str, at: str) -> None:
        """Report a node whose output is not in the context that `node` runs with."""
        if node.id not in self.position or other not in self.position:
            return
        if not self.ancestors[node.id] >> self.position[other] & 1:
            message = (
                f"node {quote(node.id)} uses {shown}, which has not run yet by then: it will be "
                "null"
            )
            hint = f"lead a path from {quote(other)} to {quote(node.id)}"
            self.findings.warning("HAS_NOT_RUN", message, at=at, hint=hint)
        elif not self._in_scope(node.id, other):
            message = (
                f"node {quote(node.id)} uses {shown}, which runs inside a split and is not seen "
                "outside it: it will be null"
            )
            hint = "use the aggregator's list; its `collect` says what each item gives"
            self.findings.warning("OUT_OF_SCOPE", message, at=at, hint=hint)

    def _in_scope(self, node: str, other: str) -> bool:
        here = self.structure.regions.get(node, frozenset())
        there = self.structure.regions.get(other, frozenset())
        outside = (
            self.structure.nodes[other].type == "aggregator"
        )  # its output is in the region around
        there = frozenset(stack[:-1] if outside else stack for stack in there)
        return not here or any(_encloses(outer, inner) for outer in there for inner in here)


def _encloses(outer: Stack, inner: Stack) -> bool:
    return inner[: len(outer)] == outer


def _ancestors(structure: Structure, position: dict[str, int]) -> dict[str, int]:
    """Return, for each node, the set of nodes that lead to it, as the bits of an integer."""
    found: dict[str, int] = {}
    for node in structure.order:
        bits = 0
        for edge in structure.into[node]:
            bits |= found[edge.src] | 1 << position[edge.src]
        found[node] = bits
    return found
