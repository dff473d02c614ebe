"""Workflows in a few lines: nodes by `node`, edges by arrows.

    workflow(node("start", "manual_trigger"), node("a", "noop"), "start -> a", "oops: a ~> b")

`->` is a success edge, `~>` an error edge, a chain `a -> b -> c` is two edges, and a name before a
colon is the id of the first.
"""

from __future__ import annotations

import re
from typing import Any

NODE_FIELDS = ("trigger", "error", "retry", "timeout", "credentials", "name")
PATIENT = ("merge", "aggregator")
"""Types that have a parameter called `timeout` and take no time themselves."""


def node(node_id: str, kind: str, **given: Any) -> dict[str, Any]:
    """Return a node; what is not a field of every node is a parameter of this one."""
    own = [key for key in NODE_FIELDS if key != "timeout" or kind not in PATIENT]
    fields = {key: given.pop(key) for key in own if key in given}
    return {"id": node_id, "type": kind, **fields, "parameters": given}


def workflow(*parts: dict[str, Any] | str, workflow_id: str = "flow") -> dict[str, Any]:
    """Return a document of nodes (dicts) and edges (arrows)."""
    nodes = [part for part in parts if isinstance(part, dict)]
    edges = [edge for part in parts if isinstance(part, str) for edge in _edges(part)]
    return {"id": workflow_id, "nodes": nodes, "edges": edges}


def _edges(text: str) -> list[dict[str, Any]]:
    name, colon, chain = text.rpartition(":")
    stops = re.split(r"\s*(->|~>)\s*", chain.strip())
    edges = []
    for src, arrow, dst in zip(stops[::2], stops[1::2], stops[2::2], strict=False):
        edges.append({"src": src, "dst": dst, "kind": "success" if arrow == "->" else "error"})
    if colon:
        edges[0]["id"] = name.strip()
    return edges


TRIGGER = node("start", "manual_trigger")


def transform(node_id: str, expression: str, **given: Any) -> dict[str, Any]:
    """Return a transform."""
    return node(node_id, "transform", expression=expression, **given)


def chosen(node_id: str, expression: str, yes: str | None = None, no: str | None = None) -> Any:
    """Return a conditional that takes edge `yes` or edge `no`."""
    sides = {"true_edge_id": yes, "false_edge_id": no}
    named = {key: edge for key, edge in sides.items() if edge}
    return node(node_id, "conditional", expression=expression, **named)
