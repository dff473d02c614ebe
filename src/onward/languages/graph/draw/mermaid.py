"""A graph as Mermaid text: one line per node and per edge, in document order."""

from __future__ import annotations

from onward.languages.graph.draw.labels import Look, edge_labels, look_of
from onward.languages.graph.model import Document

_SHAPES: dict[Look, tuple[str, str]] = {
    "trigger": ("([", "])"),
    "decision": ("{", "}"),
    "split": ("[/", "\\]"),
    "aggregator": ("[\\", "/]"),
    "merge": ("{{", "}}"),
    "wait": ("(", ")"),
    "outside": ("[[", "]]"),
    "value": ("[", "]"),
    "fail": (">", "]"),
}
# Mermaid has no escape but entities, and reads markup and markdown inside quotes.
_ENTITIES = {ord(char): f"#{ord(char)};" for char in "\"#<>&`'\\{}[]()|*_~$%;"}


def mermaid(document: Document) -> str:
    """Return the document as a Mermaid flowchart. Error edges are dashed."""
    # Ids of nodes may be words that Mermaid keeps for itself, such as "end".
    names = {node.id: f"n{index}" for index, node in enumerate(document.nodes)}
    labels = edge_labels(document)
    lines = ["flowchart TD"]
    for node in document.nodes:
        opening, closing = _SHAPES[look_of(node)]
        text = f"{_escape(node.name)}<br/><small>{_escape(node.type)}</small>"
        lines.append(f'    {names[node.id]}{opening}"{text}"{closing}')
    for edge in document.edges:
        if edge.src in names and edge.dst in names:
            arrow = "-.->" if edge.kind == "error" else "-->"
            label = f'|"{_escape(labels[edge.id])}"|' if edge.id in labels else ""
            lines.append(f"    {names[edge.src]} {arrow}{label} {names[edge.dst]}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return " ".join(text.split()).translate(_ENTITIES)
