"""Whether a document makes sense: every problem at once, each with its place and its remedy.

Errors keep a document from running; warnings never do.
"""

from __future__ import annotations

import json

from onward.errors import DocumentProblem
from onward.languages.document.problems import Findings, join, quote, suggest
from onward.languages.graph.check.edges import EdgeCheck
from onward.languages.graph.check.links import check_link_targets, check_links
from onward.languages.graph.check.names import check_names
from onward.languages.graph.check.parameters import Use, check_parameters
from onward.languages.graph.check.references import ReferenceCheck
from onward.languages.graph.check.scopes import check_cycle, check_reach, check_scopes
from onward.languages.graph.document_shape import DOCUMENT_FIELDS
from onward.languages.graph.model import Document, NodeDocument
from onward.languages.graph.structure import analyse, is_trigger
from onward.ports.nodes.node import Catalogue, NodeType

_NEVER_FAIL = ("noop", "merge", "aggregator")


def check(document: Document, catalogue: Catalogue) -> list[DocumentProblem]:
    """Return everything wrong with `document`, in the order of its text; [] when all is well."""
    findings = Findings(document.places)
    _check_top(document, findings)
    uses = [
        _check_node(node, join("/nodes", index), catalogue, findings)
        for index, node in enumerate(document.nodes)
    ]
    _check_graph(document, uses, findings)
    return sorted(findings.problems, key=lambda found: (found.line or 0, found.column or 0))


def _check_top(document: Document, findings: Findings) -> None:
    for name in json.loads(document.source or b"{}"):
        if name not in DOCUMENT_FIELDS:
            hint = suggest(name, DOCUMENT_FIELDS) or f"known are: {', '.join(DOCUMENT_FIELDS)}"
            message = f"the workflow has an unknown field {quote(name)}, which is ignored"
            findings.warning("UNKNOWN_FIELD", message, at=join("", name), hint=hint)
    if not document.nodes:
        hint = "add a node, such as {id: hello, type: log, parameters: {message: Hello}}"
        findings.error("EMPTY_WORKFLOW", "the workflow has no nodes", at="/nodes", hint=hint)


def _check_node(node: NodeDocument, at: str, catalogue: Catalogue, findings: Findings) -> list[Use]:
    kind = catalogue.get(node.type)
    if kind is None:
        names = sorted(known.name for known in catalogue)
        hint = suggest(node.type, names) or f"known are: {', '.join(names)}"
        message = f"node {quote(node.id)} has the unknown type {quote(node.type)}"
        findings.error("UNKNOWN_TYPE", message, at=join(at, "type"), hint=hint)
    else:
        _check_policies(node, at, kind, findings)
    links = [] if kind is None else check_links(node, at, kind, findings)
    return [*check_parameters(node, join(at, "parameters"), kind, findings), *links]


def _check_policies(node: NodeDocument, at: str, kind: NodeType, findings: Findings) -> None:
    if kind.credential and node.credentials is None:
        message = f"node {quote(node.id)}: {kind.name} needs a credential"
        hint = "name one with `credentials: <name>`; its values are stored elsewhere"
        findings.error("MISSING_CREDENTIAL", message, at=at, hint=hint)
    if node.timeout is not None and kind.effect == "control":
        own = "timeout" in kind.parameters.__struct_fields__
        message = f"node {quote(node.id)}: `timeout` has no effect on {kind.name}"
        hint = "write it under `parameters`" if own else "remove it: the node takes no time"
        findings.warning("USELESS_TIMEOUT", message, at=join(at, "timeout"), hint=hint)
    if node.retry is not None and (is_trigger(node) or kind.name in _NEVER_FAIL):
        message = f"node {quote(node.id)}: `retry` has no effect on {kind.name}"
        hint = "remove it: the node does not fail by itself"
        findings.warning("USELESS_RETRY", message, at=join(at, "retry"), hint=hint)


def _check_graph(document: Document, uses: list[list[Use]], findings: Findings) -> None:
    sound = check_names(document, findings)
    structure = analyse(sound)
    # The first of two equal ids is the one that remains.
    nodes = {node.id: join("/nodes", i) for i, node in reversed([*enumerate(document.nodes)])}
    edges = {edge.id: join("/edges", i) for i, edge in reversed([*enumerate(document.edges)])}
    edge_check = EdgeCheck(structure, edges, findings)
    for node in sound.nodes:
        edge_check.check(node, nodes[node.id])
        check_link_targets(node, nodes[node.id], structure, findings)
    check_cycle(structure, edges, findings)
    if not structure.cycle:
        check_scopes(structure, nodes, findings)
        if sound is document:
            # Where an edge is broken, what lies behind it is the edge's fault.
            check_reach(structure, nodes, findings)
    references = ReferenceCheck(structure, findings)
    for node, of_node in zip(document.nodes, uses, strict=True):
        for use in of_node:
            references.check(node, use)
