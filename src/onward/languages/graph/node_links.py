"""Links that a node sends out: what a definition says about them, and their marks.

`$execution.links.NAME` is a mark. What is stored about a run, and can be read, has the mark; the
signed link replaces it in the process that runs the node, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.template import Template, compile_template
from onward.kernel.ids import derive
from onward.kernel.json import encode
from onward.kernel.lineage import describe
from onward.kernel.messages import Token
from onward.kernel.program import LinkRequest
from onward.kernel.signal_waits import APPROVAL_PREFIX, address_of
from onward.languages.graph.model import LinkDocument, NodeDocument
from onward.languages.graph.structure import Structure

DEFAULT_LASTS_MS = 7 * 24 * 60 * 60 * 1000
TEXTS = ("approver", "signal", "key")
"""Fields of a link that are templates."""
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class CompiledLink:
    """A link of a node, and how many splits are around its approval."""

    name: str
    approval: str | None
    depth: int
    """How many splits are around the approval."""
    lasts_ms: int


def compile_links(
    node: NodeDocument, structure: Structure
) -> tuple[tuple[CompiledLink, ...], Template]:
    """Return the links of a checked node, and their texts as one template."""
    texts = {link.name: texts_of(link) for link in node.links}
    links = [
        CompiledLink(
            name=link.name,
            approval=link.approval,
            depth=_depth(link.approval, structure),
            lasts_ms=DEFAULT_LASTS_MS if link.lasts is None else round(link.lasts * 1000),
        )
        for link in node.links
    ]
    return tuple(links), compile_template(texts)


def texts_of(link: LinkDocument) -> dict[str, Any]:
    """Return the templates of a link."""
    return {name: text for name in TEXTS if (text := getattr(link, name)) is not None}


def _depth(approval: str | None, structure: Structure) -> int:
    stacks = structure.regions.get(approval or "", frozenset())
    return len(min(stacks, default=()))


def link_marks(links: tuple[CompiledLink, ...], token: Token, salt: str) -> dict[str, str]:
    """Return what stands for each link in the parameters of one visit."""
    visit = token.visit or token.token_id
    return {
        link.name: f"onward-link-{derive(token.execution_id, visit, link.name, salt)}"
        for link in links
    }


def check_marks(placed: Mapping[str, str], without: Any) -> None:
    """Raise ExpressionError when a mark is in parameters that were made with other marks.

    Then it is part of the data: it was forged to obtain the link of another run.
    """
    text = bytes(encode(without)).decode()
    if any(mark in text for mark in placed.values()):
        raise ExpressionError("the data holds what stands for a link here", code="LINK_FORGED")


def requested_links(
    links: tuple[CompiledLink, ...],
    texts: Mapping[str, Any],
    placed: Mapping[str, str],
    token: Token,
) -> tuple[LinkRequest, ...]:
    """Return the links of a visit with their texts evaluated."""
    return tuple(
        _requested_link(link, texts[link.name], placed[link.name], token) for link in links
    )


def _requested_link(
    link: CompiledLink, texts: Mapping[str, Any], mark: str, token: Token
) -> LinkRequest:
    if link.approval is not None:
        item = describe(token.lineage_stack[: link.depth])
        return LinkRequest(
            mark=mark,
            purpose="approval",
            address=address_of(f"{APPROVAL_PREFIX}{link.approval}", item),
            person=_text(link, texts, "approver"),
            lasts_ms=link.lasts_ms,
        )
    key = _text(link, texts, "key") if "key" in texts else describe(token.lineage_stack)
    return LinkRequest(
        mark=mark,
        purpose="callback",
        address=address_of(_text(link, texts, "signal"), key),
        # The same however often the node is tried: whatever is used, it is one signal.
        person=derive(token.execution_id, token.visit or token.token_id, link.name),
        lasts_ms=link.lasts_ms,
    )


def _text(link: CompiledLink, texts: Mapping[str, Any], name: str) -> str:
    value = texts[name]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT:
        return value
    raise ExpressionError(
        f"it must be a text of at most {LONGEST_TEXT} characters",
        code="BAD_LINK",
        pointer=f"/links/{link.name}/{name}",
    )
