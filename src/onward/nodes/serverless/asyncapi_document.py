"""AsyncAPI documents (2.x and 3.x): the server and the address of a channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onward.nodes.failures import bad_request
from onward.nodes.serverless.document_refs import fill_variables, follow_refs

_PROTOCOLS = ("http", "https", "amqp", "amqps")


@dataclass(frozen=True, slots=True)
class MessageRoute:
    """Where messages go to or come from."""

    protocol: str
    url: str
    address: str
    bindings: Mapping[str, Any]
    """What the document says about the channel in terms of the protocol."""


def find_route(
    document: Any,
    *,
    channel: str | None,
    operation: str | None,
    server: str | None,
    variables: Mapping[str, Any],
    protocol: str | None,
) -> MessageRoute:
    """Return the route to a channel, or to that of an operation. Raises RefusedError."""
    if not isinstance(document, Mapping) or "asyncapi" not in document:
        raise bad_request("the document is no AsyncAPI document")
    version_3 = str(document["asyncapi"]).startswith("3.")
    if channel is None:
        if not version_3:
            raise bad_request("operations are of AsyncAPI 3: name a channel")
        described = _named(document, "operations", str(operation))
        target = follow_refs(document, described.get("channel"))
        name = str((described.get("channel") or {}).get("$ref", "")).rpartition("/")[2]
    else:
        target, name = _named(document, "channels", channel), channel
    speaks, url = _server(document, server, variables, protocol, version_3)
    family = "amqp" if speaks.startswith("amqp") else "http"
    bindings = target.get("bindings")
    bindings = bindings.get(family) if isinstance(bindings, Mapping) else None
    address = str(target.get("address") or name) if version_3 else name
    return MessageRoute(
        speaks, url, _fill(address, variables), bindings if isinstance(bindings, Mapping) else {}
    )


def _named(document: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    known = document.get(kind)
    known = known if isinstance(known, Mapping) else {}
    if name not in known:
        some = ", ".join(map(str, list(known)[:20])) or "none"
        raise bad_request(f"the document's {kind} have no {name[:60]!r}: there is {some}")
    return follow_refs(document, known[name])


def _server(
    document: Mapping[str, Any],
    name: str | None,
    variables: Mapping[str, Any],
    protocol: str | None,
    version_3: bool,
) -> tuple[str, str]:
    servers = document.get("servers")
    if not isinstance(servers, Mapping) or not servers:
        raise bad_request("the document has no servers")
    names = [name] if name else list(servers)
    for server_name in names:
        server = _named(document, "servers", str(server_name))
        speaks = str(server.get("protocol", ""))
        if protocol not in (None, speaks, speaks.rstrip("s")) and not name:
            continue
        if speaks not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            raise bad_request(
                f"the server {server_name!r} speaks {speaks!r}: only {known} are supported"
            )
        defaults = {
            key: value.get("default")
            for key, value in (server.get("variables") or {}).items()
            if isinstance(value, Mapping)
        }
        place = (
            f"{server.get('host', '')}{server.get('pathname') or ''}"
            if version_3
            else server["url"]
        )
        place = _fill(str(place), {**defaults, **variables})
        return speaks, place if "://" in place else f"{speaks}://{place}"
    raise bad_request(f"the document has no server that speaks {protocol}")


def _fill(text: str, variables: Mapping[str, Any]) -> str:
    def value_of(name: str) -> Any:
        if variables.get(name) is None:
            raise bad_request(f"the variable {name!r} of {text[:100]!r} has no value")
        return variables[name]

    return fill_variables(text, value_of)
