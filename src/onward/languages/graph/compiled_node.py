"""One node of a graph, ready to run: its expressions parsed, its edges sorted, its needs known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from onward.expressions.jq import Jq, compile_jq
from onward.expressions.template import Template, compile_template
from onward.kernel.flow import Edge
from onward.kernel.retry import RetryPolicy
from onward.languages.graph.control_nodes import AggregatorNode, MergeNode
from onward.languages.graph.model import ErrorPolicy, NodeDocument
from onward.languages.graph.node_links import CompiledLink, compile_links
from onward.languages.graph.structure import Structure, is_trigger
from onward.ports.nodes.node import Catalogue, NodeType

NAMED_EDGES = ("approved_edge_id", "rejected_edge_id", "expired_edge_id")
"""Parameters of nodes that wait, each with the edge to take for what it is called after."""


@dataclass(frozen=True, slots=True)
class CompiledNode:
    """Everything about a node that does not change from run to run."""

    id: str
    type: NodeType
    order: int
    trigger: bool
    template: Template
    """The parameters, without those that are jq themselves."""
    jq: Mapping[str, Jq]
    """Parameters that are jq: `expression`, `collect`, or `cases/0/when`."""
    policy: ErrorPolicy
    retry: RetryPolicy
    timeout_s: float | None
    credential: str | None
    success: tuple[Edge, ...]
    error: tuple[Edge, ...]
    into: tuple[str, ...]
    needs: frozenset[str] | None
    aliases: Mapping[str, str]
    """What `$node.<x>` is called here, and the node id it means; empty when nothing uses it."""

    join: AggregatorNode | MergeNode | None
    """The parameters of a merge or an aggregator: others need them before a token is there."""

    named_edges: Mapping[str, str]
    """The edges that a node which waits names for what may come, by parameter."""

    fallback_edge: str | None
    """The edge that a decision takes when it cannot be made: false, or the default."""

    links: tuple[CompiledLink, ...]
    link_texts: Template
    """What the links say about themselves, by their names."""

    @property
    def kind(self) -> str:
        """Return the name of the node's type."""
        return self.type.name

    @property
    def join_timeout_s(self) -> float | None:
        """Return how long a merge or an aggregator waits; None for ever, and for other nodes."""
        return None if self.join is None else self.join.timeout


def compile_node(
    document: NodeDocument,
    order: int,
    structure: Structure,
    catalogue: Catalogue,
    aliases: Mapping[str, str],
) -> CompiledNode:
    """Return the node of a checked document, compiled."""
    kind = catalogue.get(document.type)
    if kind is None:
        raise LookupError(document.type)
    jq, rest = _separate(kind, document.parameters)
    template = compile_template(rest)
    ways = [(edge.kind, Edge(edge.id, edge.src, edge.dst)) for edge in structure.out[document.id]]
    links, link_texts = compile_links(document, structure)
    parts: tuple[Template | Jq, ...] = (template, link_texts, *jq.values())
    named = frozenset[str]().union(*(part.nodes for part in parts))
    known = {name: aliases[name] for name in named if name in aliases}
    every = any(part.all_nodes for part in parts)
    return CompiledNode(
        id=document.id,
        type=kind,
        order=order,
        trigger=is_trigger(document),
        template=template,
        jq=jq,
        policy=document.error,
        retry=document.retry or RetryPolicy(),
        timeout_s=document.timeout,
        credential=document.credentials,
        success=tuple(way for kind, way in ways if kind == "success"),
        error=tuple(way for kind, way in ways if kind == "error"),
        into=tuple(edge.id for edge in structure.into[document.id]),
        needs=None if every else _needs(template, link_texts, jq, known),
        aliases=aliases if every else known,
        join=_join(kind, template),
        named_edges={name: rest[name] for name in NAMED_EDGES if isinstance(rest.get(name), str)},
        fallback_edge=rest.get("false_edge_id") or rest.get("default_edge_id"),
        links=links,
        link_texts=link_texts,
    )


def _join(kind: NodeType, template: Template) -> AggregatorNode | MergeNode | None:
    if not issubclass(kind.parameters, AggregatorNode | MergeNode):
        return None
    return msgspec.convert(template.render(None, {}), kind.parameters)


def _separate(kind: NodeType, parameters: Mapping[str, Any]) -> tuple[dict[str, Jq], Any]:
    """Take the jq parameters out of the rest, leaving their text where the struct expects it."""
    jq: dict[str, Jq] = {}
    rest: dict[str, Any] = dict(parameters)
    for path in kind.expressions:
        head, _, tail = path.partition("/*/")
        if rest.get(head) is None:
            continue
        if not tail:
            jq[head] = compile_jq(rest[head])
            rest[head] = "."
            continue
        for index, case in enumerate(rest[head]):
            jq[f"{head}/{index}/{tail}"] = compile_jq(case[tail])
        rest[head] = [{**case, tail: "."} for case in rest[head]]
    return jq, rest


def _needs(
    template: Template, links: Template, jq: Mapping[str, Jq], known: Mapping[str, str]
) -> frozenset[str]:
    names = template.names.union(
        links.names, *(program.names for program in jq.values()), known.values()
    )
    if jq or not template.static or not links.static:
        names |= {"input"}  # jq's `.` reads it, and no analysis can tell whether it does
    return frozenset(names)
