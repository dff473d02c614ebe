"""Edges: those that a node names, those that are never taken, and the nodes where they meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onward.languages.document.problems import Findings, join, quote, suggest
from onward.languages.graph.compiled_node import NAMED_EDGES
from onward.languages.graph.model import EdgeDocument, EdgeKind, NodeDocument
from onward.languages.graph.structure import Structure, is_trigger

_JOINS = ("merge", "aggregator")


class EdgeCheck:
    """Judges the edges around each node of one document."""

    def __init__(
        self, structure: Structure, edge_places: dict[str, str], findings: Findings
    ) -> None:
        self.structure = structure
        self.edges = {edge.id: edge for edges in structure.out.values() for edge in edges}
        self.places = edge_places
        self.findings = findings

    def check(self, node: NodeDocument, at: str) -> None:
        """Report what is wrong with the edges that enter and leave `node`."""
        self._check_arrivals(node, at)
        self._check_error_edges(node, at)
        named = list(_routes(node, join(at, "parameters")))
        for place, edge in named:
            self._check_named(node, edge, "success", place)
        if node.type in ("conditional", "switch") or "approved_edge_id" in node.parameters:
            self._check_never_taken(node, {edge for _, edge in named})

    def _check_named(self, node: NodeDocument, name: str, kind: EdgeKind, at: str) -> bool:
        """Report an edge that `node` cannot take; return whether it can."""
        edge = self.edges.get(name)
        leaving = [own.id for own in self.structure.out[node.id] if own.kind == kind]
        can = f"it has: {', '.join(map(quote, leaving))}" if leaving else "add the edge"
        if edge is None:
            message = f"node {quote(node.id)} names edge {quote(name)}, which does not exist"
            hint = suggest(name, leaving) or can
            self.findings.error("UNKNOWN_EDGE", message, at=at, hint=hint)
        elif edge.src != node.id:
            message = (
                f"node {quote(node.id)} names edge {quote(name)}, which leaves node "
                f"{quote(edge.src)}"
            )
            hint = f"name an edge that leaves {quote(node.id)}; {can}"
            self.findings.error("FOREIGN_EDGE", message, at=at, hint=hint)
        elif edge.kind != kind:
            message = (
                f"node {quote(node.id)} names edge {quote(name)} as {_article(kind)} edge, but it "
                f"is {_article(edge.kind)} edge"
            )
            hint = f"set `kind: {kind}` on the edge, or name another one"
            self.findings.error("WRONG_EDGE_KIND", message, at=at, hint=hint)
        else:
            return True
        return False

    def _check_error_edges(self, node: NodeDocument, at: str) -> None:
        policy = node.error
        place = join(at, "error")
        if policy.type == "branch" and policy.error_edge is None:
            message = f"node {quote(node.id)} branches on error but names no edge"
            hint = "add `error_edge` with the id of an edge of kind error"
            self.findings.error("MISSING_ERROR_EDGE", message, at=place, hint=hint)
        elif policy.error_edge is not None:
            self._check_named(node, policy.error_edge, "error", join(place, "error_edge"))
        taken = policy.error_edge if policy.type == "branch" else None
        for edge in self.structure.out[node.id]:
            if edge.kind == "error" and edge.id != taken:
                message = f"edge {quote(edge.id)} is an error edge that is never taken"
                hint = (
                    f"give node {quote(node.id)} `error: {{type: branch, error_edge: {edge.id}}}`"
                )
                self.findings.warning(
                    "UNUSED_ERROR_EDGE", message, at=self.places[edge.id], hint=hint
                )

    def _check_never_taken(self, node: NodeDocument, named: set[str]) -> None:
        wanted = {
            "conditional": "true_edge_id or false_edge_id",
            "switch": "a case's edge_id or default_edge_id",
        }.get(node.type, "approved_edge_id, rejected_edge_id or expired_edge_id")
        for edge in self.structure.out[node.id]:
            if edge.kind == "success" and edge.id not in named:
                message = (
                    f"edge {quote(edge.id)} is never taken: {node.type} {quote(node.id)} does not "
                    "name it"
                )
                self.findings.error(
                    "EDGE_NEVER_TAKEN",
                    message,
                    at=self.places[edge.id],
                    hint=f"name it in {wanted}, or remove it",
                )

    def _check_arrivals(self, node: NodeDocument, at: str) -> None:
        into = self.structure.into[node.id]
        if is_trigger(node) and into:
            message = f"trigger {quote(node.id)} has an incoming edge, {quote(into[0].id)}"
            hint = "a run starts at its triggers: remove the edge, or make this another type"
            self.findings.error("TRIGGER_HAS_INPUT", message, at=self.places[into[0].id], hint=hint)
        elif node.type == "merge":
            self._check_merge(node, at, into)
        elif node.type == "aggregator" and len(into) > 1:
            message = (
                f"aggregator {quote(node.id)} has {len(into)} incoming edges: the first one that "
                "arrives gives the item's value"
            )
            hint = "put a merge before it to gather all of them"
            self.findings.warning("SEVERAL_ARRIVALS", message, at=at, hint=hint)
        elif node.type not in _JOINS and len(into) > 1:
            message = (
                f"node {quote(node.id)} has {len(into)} incoming edges and runs once for each "
                "that arrives"
            )
            hint = "put a merge before it, unless only one of them can arrive"
            self.findings.warning("SEVERAL_ARRIVALS", message, at=at, hint=hint)

    def _check_merge(self, node: NodeDocument, at: str, into: tuple[EdgeDocument, ...]) -> None:
        wanted = node.parameters.get("n")
        if not into:
            message = f"merge {quote(node.id)} can never open: no edge enters it"
            hint = "draw an edge from each branch that it joins"
            self.findings.error("MERGE_NEVER_OPENS", message, at=at, hint=hint)
        elif isinstance(wanted, int) and wanted > len(into):
            message = (
                f"merge {quote(node.id)} can never open: it waits for {wanted} branches and has "
                f"{len(into)}"
            )
            place = join(join(at, "parameters"), "n")
            hint = f"set `n` to at most {len(into)}, or draw the missing edges"
            self.findings.error("MERGE_NEVER_OPENS", message, at=place, hint=hint)


def _article(kind: EdgeKind) -> str:
    return "an error" if kind == "error" else "a success"


def _routes(node: NodeDocument, at: str) -> Iterator[tuple[str, str]]:
    """Yield each edge that a conditional or switch names, with the place of the name."""
    parameters = node.parameters
    fields: tuple[str, ...] = ()
    if node.type == "conditional":
        fields = ("true_edge_id", "false_edge_id")
    elif node.type in ("wait_for_signal", "approval"):
        fields = NAMED_EDGES
    elif node.type == "switch":
        fields = ("default_edge_id",)
        cases: Any = parameters.get("cases")
        for index, case in enumerate(cases if isinstance(cases, list) else ()):
            if isinstance(case, dict) and isinstance(case.get("edge_id"), str):
                yield join(join(join(at, "cases"), index), "edge_id"), case["edge_id"]
    for field in fields:
        if isinstance(parameters.get(field), str):
            yield join(at, field), parameters[field]
