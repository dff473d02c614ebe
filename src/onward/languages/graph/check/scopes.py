"""Reach and scope: what can run at all, and in which split's items it runs."""

from __future__ import annotations

from onward.languages.document.problems import Findings, quote
from onward.languages.graph.structure import Stack, Structure

_BARRIERS = ("merge", "aggregator")


def check_cycle(structure: Structure, edge_places: dict[str, str], findings: Findings) -> None:
    """Report the cycle of a graph that has one, by its path."""
    if not structure.cycle:
        return
    path = " -> ".join(structure.cycle)
    last, first = structure.cycle[-2:]
    closing = next(edge for edge in structure.out[last] if edge.dst == first)
    hint = "remove one of these edges; to try a node again, give it a `retry`"
    findings.error(
        "CYCLE", f"the nodes form a cycle: {path}", at=edge_places[closing.id], hint=hint
    )


def check_reach(structure: Structure, places: dict[str, str], findings: Findings) -> None:
    """Report every node that no run can reach."""
    for node in structure.nodes:
        if node not in structure.regions:
            message = f"node {quote(node)} can never run: no trigger leads to it"
            hint = "draw an edge to it, make it a trigger, or remove it"
            findings.error("UNREACHABLE", message, at=places[node], hint=hint)


def check_scopes(structure: Structure, places: dict[str, str], findings: Findings) -> None:
    """Report aggregators outside a split, and nodes that run in several scopes."""
    mixed = {node for node, stacks in structure.regions.items() if len(stacks) > 1}
    for node in structure.stray_aggregators:
        if node not in mixed:
            message = f"aggregator {quote(node)} is not inside a split"
            hint = "lead a split's items to it, or use a merge to join branches"
            findings.error("STRAY_AGGREGATOR", message, at=places[node], hint=hint)
    leads = _leads_to_barrier(structure)
    for node in structure.order:
        # What follows a mixed node is mixed too; only the first one is the author's to change.
        if node in mixed and not any(edge.src in mixed for edge in structure.into[node]):
            scopes = " and ".join(sorted(map(_scope, structure.regions[node])))
            message = f"node {quote(node)} is reached {scopes}"
            hint = "gather the items with an aggregator before the paths meet"
            if leads[node]:
                findings.error("MIXED_SCOPES", message, at=places[node], hint=hint)
            else:
                findings.warning("MIXED_SCOPES", message, at=places[node], hint=hint)


def _scope(stack: Stack) -> str:
    return f"inside split {quote(' / '.join(stack))}" if stack else "outside any split"


def _leads_to_barrier(structure: Structure) -> dict[str, bool]:
    leads: dict[str, bool] = {}
    for node in reversed(structure.order):
        leads[node] = structure.nodes[node].type in _BARRIERS or any(
            leads[edge.dst] for edge in structure.out[node]
        )
    return leads
