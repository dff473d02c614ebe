"""Links that nodes send out: to an approval that exists and is a single one from there."""

from __future__ import annotations

from onward.errors import ExpressionError
from onward.expressions import compile_template
from onward.languages.document.problems import Findings, join, quote, suggest
from onward.languages.graph.check.parameters import Use
from onward.languages.graph.model import LinkDocument, NodeDocument
from onward.languages.graph.node_links import texts_of
from onward.languages.graph.structure import Structure
from onward.ports.nodes.node import NodeType

_LINK_HINT = "write {approval: NODE, approver: WHO} or {signal: NAME}"
_LONGEST_S = 365 * 24 * 60 * 60


def check_links(node: NodeDocument, at: str, kind: NodeType, findings: Findings) -> list[Use]:
    """Report what is wrong with a node's links; return what their expressions ask for."""
    if node.links and kind.effect == "control":
        message = f"node {quote(node.id)}: {kind.name} sends nothing out, so it can have no links"
        hint = "give them to the node that sends them, such as smtp or http"
        findings.error("USELESS_LINKS", message, at=join(at, "links"), hint=hint)
    uses: list[Use] = []
    for link in node.links:
        place = join(join(at, "links"), link.name)
        _check_fields(node, link, place, findings)
        for name, text in texts_of(link).items():
            try:
                found = compile_template(text)
            except ExpressionError as error:
                message = (
                    f"node {quote(node.id)}: the expression in {quote(name)} is wrong: {error}"
                )
                hint = "write jq, such as $node_id.field; write $$ for a plain $"
                findings.error(error.code, message, at=join(place, name), hint=hint)
                continue
            uses.append(Use(join(place, name), found.names, found.nodes))
    return uses


def _check_fields(node: NodeDocument, link: LinkDocument, at: str, findings: Findings) -> None:
    approval = link.approval is not None and link.approver is not None and link.signal is None
    signal = link.signal is not None and link.approval is None and link.approver is None
    if not (approval or signal) or (approval and link.key is not None):
        message = f"node {quote(node.id)}: link {quote(link.name)} has no purpose"
        if approval:
            message = f"node {quote(node.id)}: link {quote(link.name)} has a key, as signals have"
        findings.error("BAD_LINK", message, at=at, hint=_LINK_HINT)
    if link.lasts is not None and link.lasts > _LONGEST_S:
        message = f"node {quote(node.id)}: link {quote(link.name)} lasts longer than a year"
        findings.error("BAD_LINK", message, at=join(at, "lasts"), hint="write fewer seconds")


def check_link_targets(
    node: NodeDocument, at: str, structure: Structure, findings: Findings
) -> None:
    """Report links to a node that is no approval, or is several approvals from there."""
    for link in node.links:
        if link.approval is None:
            continue
        place = join(join(join(at, "links"), link.name), "approval")
        target = structure.nodes.get(link.approval)
        who = f"node {quote(node.id)}: link {quote(link.name)}"
        if target is None or target.type != "approval":
            known = [node.id for node in structure.nodes.values() if node.type == "approval"]
            wrong = "no node has that id" if target is None else f"it is of type {target.type}"
            hint = suggest(link.approval, known) or "name an approval node"
            message = f"{who} is for {quote(link.approval)}, and {wrong}"
            findings.error("UNKNOWN_NODE", message, at=place, hint=hint)
            continue
        here = structure.regions.get(node.id, frozenset())
        there = structure.regions.get(link.approval, frozenset())
        if any(inner[: len(outer)] != outer for outer in there for inner in here):
            message = f"{who} is for {quote(link.approval)}, which is there once for every item"
            hint = "let the node stand inside the same split, before the approval"
            findings.error("LINK_SCOPE", message, at=place, hint=hint)
