"""What a drawing says: the look of each node, and the words on its edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from onward.languages.graph.model import Document, NodeDocument
from onward.languages.graph.structure import is_trigger

Look = Literal[
    "trigger", "decision", "split", "aggregator", "merge", "wait", "outside", "value", "fail"
]

_LOOKS: dict[str, Look] = {
    "conditional": "decision",
    "switch": "decision",
    "split": "split",
    "aggregator": "aggregator",
    "merge": "merge",
    "wait": "wait",
    "wait_for_signal": "wait",
    "approval": "wait",
    "transform": "value",
    "log": "value",
    "noop": "value",
    "fail": "fail",
    # The tasks of the Serverless Workflow DSL; whatever else it has touches the world.
    "set": "value",
    "do": "value",
    "try": "value",
    "for": "split",
    "fork": "split",
    "listen": "wait",
    "raise": "fail",
}


def look_of(node: NodeDocument) -> Look:
    """Return how a node is drawn. A type that is not the language's own touches the world."""
    return "trigger" if is_trigger(node) else _LOOKS.get(node.type, "outside")


def edge_labels(document: Document) -> dict[str, str]:
    """Return the word on each edge that has one: a decision's answer, or "error"."""
    labels = {edge.id: "error" for edge in document.edges if edge.kind == "error"}
    for node in document.nodes:
        for edge, word in _answers(node):
            labels[edge] = f"{labels[edge]}, {word}" if edge in labels else word
    return labels


def _answers(node: NodeDocument) -> Iterator[tuple[str, str]]:
    parameters = node.parameters
    if node.type == "conditional":
        yield from _named(parameters.get("true_edge_id"), "true")
        yield from _named(parameters.get("false_edge_id"), "false")
    elif node.type in ("wait_for_signal", "approval"):
        for word in ("approved", "rejected", "expired"):
            yield from _named(parameters.get(f"{word}_edge_id"), word)
    elif node.type == "switch":
        cases: Any = parameters.get("cases")
        for index, case in enumerate(cases if isinstance(cases, list) else ()):
            if isinstance(case, dict):
                yield from _named(case.get("edge_id"), f"case {index}")
        yield from _named(parameters.get("default_edge_id"), "default")


def _named(edge: Any, word: str) -> Iterator[tuple[str, str]]:
    if isinstance(edge, str):
        yield edge, word
