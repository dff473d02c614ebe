"""A document from text or a decoded value: everything wrong with its shape is reported at once.

Whether the document makes sense (edges that lead nowhere, unknown types) is judged later, by
`onward.languages.graph.check.document`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from onward.errors import DefinitionError
from onward.languages.document.limits import MAX_BYTES, UnreadableError, check_plain, too_large
from onward.languages.document.problems import Findings, Place, join, quote
from onward.languages.document.source import read
from onward.languages.graph.document_shape import read_document
from onward.languages.graph.model import Document


def parse(text: str | bytes, *, file: str = "") -> Document:
    """Return the document that `text` (JSON or YAML) holds.

    `file` names it in errors, and gives the workflow its id when the document has none. Raises
    DefinitionError with every problem of its text and shape.
    """
    source = read(text, file=file)
    findings = Findings(source.places)
    findings.problems.extend(source.problems)
    return _finish(source.value, source.places, findings, _stem(file), file)


def parse_definition(value: Any, *, default_id: str = "workflow") -> Document:
    """Return the document that an already decoded value holds (a message's definition).

    `default_id` is the id of a definition that has none. Raises DefinitionError like `parse`.
    """
    findings = Findings()
    try:
        plain = check_plain(value, findings)
    except UnreadableError as error:
        raise DefinitionError([error.problem]) from None
    return _finish(plain, {}, findings, default_id, "")


def _finish(
    value: Any, places: Mapping[str, Place], findings: Findings, default_id: str, file: str
) -> Document:
    if isinstance(value, dict) and isinstance(value.get("nodes"), dict):
        value, places = _with_node_list(value, places, findings)
        findings.places = places
    document = read_document(value, findings, default_id)
    if findings.problems:
        in_text_order = sorted(findings.problems, key=lambda p: (p.line or 0, p.column or 0))
        raise DefinitionError(in_text_order, file)
    source = _canonical({**value, "id": document.id})
    if len(source) > MAX_BYTES:
        problem = too_large(f"{len(source) / 1024 / 1024:.1f} MB without its aliases").problem
        raise DefinitionError([problem], file)
    return replace(document, source=source, places=places)


def _canonical(value: Mapping[str, Any]) -> bytes:
    """Return the document as bytes that are equal for equal documents."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def _stem(file: str) -> str:
    """Return a workflow id made from a file's name."""
    name = re.split(r"[/\\]", file)[-1]
    stem = re.sub(r"\.(ya?ml|json)$", "", name, flags=re.IGNORECASE)
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", stem).strip("_-") or "workflow"


def _with_node_list(
    value: dict[str, Any], places: Mapping[str, Place], findings: Findings
) -> tuple[dict[str, Any], dict[str, Place]]:
    """Return a document whose nodes are a mapping by id as one whose nodes are a list.

    The canonical form sorts keys: in a mapping the order of the nodes would be lost.
    """
    listed = []
    moved = {}
    for index, (name, node) in enumerate(value["nodes"].items()):
        moved[join("/nodes", name)] = join("/nodes", index)
        listed.append({**node, "id": name} if isinstance(node, dict) else node)
        own = node.get("id") if isinstance(node, dict) else None
        if own is not None and own != name:
            message = f"node {quote(name)} has another id inside"
            at = f"{join('/nodes', name)}/id"
            findings.error("BAD_ID", message, at=at, hint="remove the id: the key is the id")
    return {**value, "nodes": listed}, _move_places(places, moved)


def _move_places(places: Mapping[str, Place], moved: Mapping[str, str]) -> dict[str, Place]:
    found = {}
    for pointer, place in places.items():
        head = "/".join(pointer.split("/", 3)[:3])
        found[moved.get(head, head) + pointer[len(head) :]] = place
    return found
