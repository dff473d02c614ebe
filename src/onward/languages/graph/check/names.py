"""Ids and ends of edges: what must hold before the structure of a graph can be analysed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from onward.languages.document.problems import Findings, join, quote, suggest
from onward.languages.graph.model import Document, EdgeDocument


def check_names(document: Document, findings: Findings) -> Document:
    """Report equal ids, edges without an end and self loops.

    Returns the document without them, so that its shape can be judged all the same: the very same
    document when nothing was found.
    """
    nodes = _first_of_each("node", (node.id for node in document.nodes), "/nodes", findings)
    edges = _first_of_each("edge", (edge.id for edge in document.edges), "/edges", findings)
    known = {document.nodes[index].id: index for index in nodes}
    sound = [
        index
        for index in edges
        if _has_both_ends(document.edges[index], join("/edges", index), known, findings)
    ]
    if len(nodes) == len(document.nodes) and len(sound) == len(document.edges):
        return document
    return replace(
        document,
        nodes=tuple(document.nodes[index] for index in nodes),
        edges=tuple(document.edges[index] for index in sound),
    )


def _first_of_each(what: str, ids: Iterable[str], at: str, findings: Findings) -> list[int]:
    seen: set[str] = set()
    first = []
    for index, name in enumerate(ids):
        if name in seen:
            message = f"there are two {what}s with the id {quote(name)}"
            place = join(join(at, index), "id")
            findings.error(f"DUPLICATE_{what.upper()}", message, at=place, hint="rename one")
        else:
            seen.add(name)
            first.append(index)
    return first


def _has_both_ends(
    edge: EdgeDocument, at: str, nodes: Mapping[str, int], findings: Findings
) -> bool:
    missing = [
        (end, name) for end, name in (("src", edge.src), ("dst", edge.dst)) if name not in nodes
    ]
    for end, name in missing:
        verb = "leaves" if end == "src" else "enters"
        message = f"edge {quote(edge.id)} {verb} node {quote(name)}, which does not exist"
        hint = suggest(name, nodes) or "add the node, or remove the edge"
        findings.error("DANGLING_EDGE", message, at=join(at, end), hint=hint)
    if not missing and edge.src == edge.dst:
        message = f"edge {quote(edge.id)} leads from node {quote(edge.src)} to itself"
        hint = "to try a node again, give it a `retry`"
        findings.error("SELF_LOOP", message, at=at, hint=hint)
        return False
    return not missing
