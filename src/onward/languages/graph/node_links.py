"""Links that a node hands out, as far as a definition can say what they are.

`$execution.links.NAME` is a mark. What a run keeps, and what anybody can read of it, has the mark;
the signed link takes its place in the process that runs the node, and nowhere else.
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

LASTS_MS = 7 * 24 * 60 * 60 * 1000
TEXTS = ("approver", "signal", "key")
"""Fields of a link that are templates."""
LONGEST = 200


@dataclass(frozen=True, slots=True)
class CompiledLink:
    """A link of a node, and where what it is for stands among splits."""

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
            lasts_ms=LASTS_MS if link.lasts is None else round(link.lasts * 1000),
        )
        for link in node.links
    ]
    return tuple(links), compile_template(texts)


def texts_of(link: LinkDocument) -> dict[str, Any]:
    """Return the templates of a link that are given."""
    return {name: one for name in TEXTS if (one := getattr(link, name)) is not None}


def _depth(approval: str | None, structure: Structure) -> int:
    stacks = structure.regions.get(approval or "", frozenset())
    return len(min(stacks, default=()))


def marks(links: tuple[CompiledLink, ...], token: Token, salt: str) -> dict[str, str]:
    """Return what stands for each link in the parameters of one visit."""
    visit = token.visit or token.token_id
    return {
        link.name: f"onward-link-{derive(token.execution_id, visit, link.name, salt)}"
        for link in links
    }


def check_marks(placed: Mapping[str, str], without: Any) -> None:
    """Raise ExpressionError when a mark is in parameters that were made with other marks.

    Then it came with the data: somebody has made it up to be sent a link that is not theirs.
    """
    text = bytes(encode(without)).decode()
    if any(mark in text for mark in placed.values()):
        raise ExpressionError("the data holds what stands for a link here", code="LINK_FORGED")


def ask(
    links: tuple[CompiledLink, ...],
    texts: Mapping[str, Any],
    placed: Mapping[str, str],
    token: Token,
) -> tuple[LinkRequest, ...]:
    """Return the links of a visit, given what their texts came to."""
    return tuple(_asked(link, texts[link.name], placed[link.name], token) for link in links)


def _asked(link: CompiledLink, texts: Mapping[str, Any], mark: str, token: Token) -> LinkRequest:
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
    if isinstance(value, str) and 0 < len(value) <= LONGEST:
        return value
    raise ExpressionError(
        f"it must be a text of at most {LONGEST} characters",
        code="BAD_LINK",
        pointer=f"/links/{link.name}/{name}",
    )
