"""The shape of a document: which fields there are, and what each may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from onward.kernel.retry import Backoff, RetryPolicy
from onward.languages.document.fields import Fields
from onward.languages.document.problems import Findings, join, kind_of, quote
from onward.languages.graph.model import (
    Document,
    EdgeDocument,
    EdgeKind,
    ErrorPolicy,
    ErrorStrategy,
    LinkDocument,
    NodeDocument,
)
from onward.languages.graph.structure import is_trigger

DOCUMENT_FIELDS = ("id", "name", "description", "version", "nodes", "edges")
NODE_FIELDS = (
    *("id", "name", "type", "trigger", "parameters", "credentials", "error", "retry", "timeout"),
    *("links", "position", "output"),
)
EDGE_FIELDS = ("id", "src", "dst", "kind", "is_error")
LINK_FIELDS = ("approval", "approver", "signal", "key", "lasts")
RETRY_FIELDS = ("max_attempts", "delay", "backoff", "max_delay", "jitter", "on")
VARIABLES = ("trigger", "item", "index", "input", "execution", "node", "ENV")

_RESERVED = frozenset((*VARIABLES, "__loc__"))  # `$__loc__` is jq's own
_MAX_ATTEMPTS = 1000


def read_document(value: Any, findings: Findings, default_id: str) -> Document:
    """Return what `value` says; what is wrong with it is in `findings` afterwards.

    Where nothing was found, the node at `/nodes/<i>` is `nodes[i]`, and so for edges.
    """
    if not isinstance(value, Mapping):
        message = f"a workflow is a mapping with nodes and edges, not {kind_of(value)}"
        findings.error("NOT_A_WORKFLOW", message, at="", hint="start with `nodes:` and `edges:`")
        return Document("", "", (), ())
    fields = Fields(value, "the workflow", "", findings)
    workflow = fields.identifier("id") or default_id
    name = fields.text("name") or workflow
    fields.text("description")
    if isinstance(value.get("version"), bool | list | Mapping):
        fields.text("version")
    hint = "add `nodes:` with a list of nodes, each with an id and a type"
    nodes = _nodes(fields.items("nodes", required=hint), findings)
    edges = _edges(fields.items("edges"), findings, nodes)
    return Document(workflow, name, nodes, edges)


def _nodes(items: list[Any], findings: Findings) -> tuple[NodeDocument, ...]:
    return tuple(
        _node(item, join("/nodes", index), findings)
        for index, item in enumerate(items)
        if _is_mapping(item, "a node", join("/nodes", index), findings)
    )


def _is_mapping(item: Any, what: str, at: str, findings: Findings) -> bool:
    if isinstance(item, Mapping):
        return True
    message = f"{what} is a mapping of fields, not {kind_of(item)}"
    findings.error("BAD_FIELD", message, at=at, hint="see docs/reference/graph-language.md")
    return False


def _node(item: Mapping[str, Any], at: str, findings: Findings) -> NodeDocument:
    known = item.get("id")
    owner = f"node {quote(known)}" if isinstance(known, str) and known else "a node"
    fields = Fields(item, owner, at, findings)
    fields.reject_unknown(NODE_FIELDS)
    name = fields.identifier("id", required="give it an id: letters, digits, - and _") or ""
    node = NodeDocument(
        id=name,
        type=fields.text("type", required="give it a type, such as http or transform") or "",
        name=fields.text("name") or name,
        trigger=fields.flag("trigger"),
        parameters=fields.mapping("parameters"),
        credentials=_credential(fields),
        error=_error_policy(fields),
        retry=_retry_policy(fields),
        timeout=fields.seconds("timeout"),
        links=_links(fields),
        position=item.get("position"),
    )
    # The trigger's output is the run's input, which is what `$trigger` means: there the id is apt.
    if name in _RESERVED and not (name == "trigger" and is_trigger(node)):
        message = f"a node cannot have the id {quote(name)}: ${name} is a variable"
        findings.error("RESERVED_ID", message, at=join(at, "id"), hint="choose another id")
    return node


def _credential(fields: Fields) -> str | None:
    value = fields.value.get("credentials")
    if not isinstance(value, Mapping):
        return fields.identifier("credentials")
    # Other systems write an id or a kind beside the name; only the name is a reference here. An
    # author who writes the secret itself must be stopped.
    named = fields.inside("credentials", ("name", "id", "type"))
    return named.identifier("name", required="name the credential; its values are stored elsewhere")


def _error_policy(fields: Fields) -> ErrorPolicy:
    policy = fields.inside("error", ("type", "error_edge"))
    kind = policy.choice("type", ("halt", "ignore", "branch")) or "halt"
    return ErrorPolicy(cast("ErrorStrategy", kind), policy.text("error_edge"))


def _retry_policy(fields: Fields) -> RetryPolicy | None:
    if fields.value.get("retry") is None:
        return None
    policy = fields.inside("retry", RETRY_FIELDS)
    default = RetryPolicy()
    backoff = policy.choice("backoff", ("constant", "linear", "exponential")) or default.backoff
    attempts = policy.number("max_attempts", 1, _MAX_ATTEMPTS, whole=True)
    delay = policy.seconds("delay", zero=True)
    return RetryPolicy(
        max_attempts=default.max_attempts if attempts is None else int(attempts),
        delay=default.delay if delay is None else delay,
        backoff=cast("Backoff", backoff),
        max_delay=policy.seconds("max_delay") or default.max_delay,
        jitter=policy.number("jitter", 0, 1) or default.jitter,
        on=policy.texts("on"),
    )


def _links(fields: Fields) -> tuple[LinkDocument, ...]:
    links = fields.inside("links")
    return tuple(_link(name, links.inside(name)) for name in links.value if links.is_name(name))


def _link(name: str, link: Fields) -> LinkDocument:
    link.reject_unknown(LINK_FIELDS)
    return LinkDocument(
        name=name,
        approval=link.identifier("approval"),
        approver=link.text("approver"),
        signal=link.text("signal"),
        key=link.text("key"),
        lasts=link.seconds("lasts"),
    )


def _edges(
    items: list[Any], findings: Findings, nodes: tuple[NodeDocument, ...]
) -> tuple[EdgeDocument, ...]:
    mappings = [
        (join("/edges", index), item)
        for index, item in enumerate(items)
        if _is_mapping(item, "an edge", join("/edges", index), findings)
    ]
    taken = {item["id"] for _, item in mappings if isinstance(item.get("id"), str)}
    error_edges = {(node.id, node.error.error_edge) for node in nodes if node.error.error_edge}
    edges = []
    for at, item in mappings:
        fields = Fields(item, _edge_name(item), at, findings)
        fields.reject_unknown(EDGE_FIELDS)
        src = fields.text("src", required="name the node it leaves") or ""
        dst = fields.text("dst", required="name the node it enters") or ""
        edge = _edge_id(fields) or _free_id(f"{src}->{dst}", taken)
        taken.add(edge)
        # An edge that its node names as error edge need not say so again.
        kind = _edge_kind(fields) or ("error" if (src, edge) in error_edges else "success")
        edges.append(EdgeDocument(edge, src, dst, kind))
    return tuple(edges)


def _edge_name(item: Mapping[str, Any]) -> str:
    known = item.get("id")
    if isinstance(known, str) and known:
        return f"edge {quote(known)}"
    src, dst = item.get("src"), item.get("dst")
    if isinstance(src, str) and isinstance(dst, str):
        return f"edge {quote(f'{src}->{dst}')}"
    return "an edge"


def _edge_id(fields: Fields) -> str | None:
    edge = fields.text("id")
    if edge is None or (edge.isprintable() and "$" not in edge and "{{" not in edge):
        return edge
    # Parameters name edges, and in a parameter these would be read as an expression.
    message = f"an edge cannot have the id {quote(edge)}"
    at = join(fields.at, "id")
    fields.findings.error("BAD_ID", message, at=at, hint="leave out $, {{ and line breaks")
    return None


def _free_id(wanted: str, taken: set[str]) -> str:
    edge, number = wanted, 1
    while edge in taken:
        number += 1
        edge = f"{wanted}#{number}"
    return edge


def _edge_kind(fields: Fields) -> EdgeKind | None:
    """Return the kind as written here, or as RFC 001 writes it (`is_error: "error"`)."""
    kind = cast("EdgeKind | None", fields.choice("kind", ("success", "error")))
    match fields.value.get("is_error"):
        case None:
            return kind
        case True | "error":
            old: EdgeKind = "error"
        case False | "" | "success":
            old = "success"
        case _:
            fields.choice("is_error", ("error", "success"))
            return kind
    if kind is not None and kind != old:
        message = f'{fields.owner} says "kind" {kind} and "is_error" the opposite'
        at = join(fields.at, "is_error")
        fields.findings.error("BAD_FIELD", message, at=at, hint="keep only `kind`")
    return kind or old
