"""AsyncAPI documents (2.x and 3.x): the server to speak to, and the address to speak at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onward.nodes.failures import Refused

_VARIABLE = re.compile(r"\{([^{}]+)\}")
SPOKEN = ("http", "https", "amqp", "amqps")


@dataclass(frozen=True, slots=True)
class MessageRoute:
    """Where messages go to or come from."""

    protocol: str
    url: str
    address: str
    bindings: Mapping[str, Any]
    """What the document says about the channel in terms of the protocol."""


def find_way(
    document: Any,
    *,
    channel: str | None,
    operation: str | None,
    server: str | None,
    variables: Mapping[str, Any],
    protocol: str | None,
) -> MessageRoute:
    """Return the way to a channel, or to that of an operation. Raises Refused."""
    if not isinstance(document, Mapping) or "asyncapi" not in document:
        raise refused("the document is no AsyncAPI document")
    new = str(document["asyncapi"]).startswith("3.")
    if channel is None:
        if not new:
            raise refused("operations are of AsyncAPI 3: name a channel")
        described = _named(document, "operations", str(operation))
        target = _follow(document, described.get("channel"))
        name = str((described.get("channel") or {}).get("$ref", "")).rpartition("/")[2]
    else:
        target, name = _named(document, "channels", channel), channel
    spoken, url = _server(document, server, variables, protocol, new)
    family = "amqp" if spoken.startswith("amqp") else "http"
    bindings = target.get("bindings")
    mine = bindings.get(family) if isinstance(bindings, Mapping) else None
    address = str(target.get("address") or name) if new else name
    return MessageRoute(
        spoken, url, _filled(address, variables), mine if isinstance(mine, Mapping) else {}
    )


def refused(message: str) -> Refused:
    """Return the refusal of a call that a document does not allow."""
    return Refused(message, "HTTP_REQUEST")


def _named(document: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    known = document.get(kind)
    known = known if isinstance(known, Mapping) else {}
    if name not in known:
        some = ", ".join(map(str, list(known)[:20])) or "none"
        raise refused(f"the document's {kind} have no {name[:60]!r}: there is {some}")
    return _follow(document, known[name])


def _server(
    document: Mapping[str, Any],
    name: str | None,
    variables: Mapping[str, Any],
    protocol: str | None,
    new: bool,
) -> tuple[str, str]:
    servers = document.get("servers")
    if not isinstance(servers, Mapping) or not servers:
        raise refused("the document has no servers")
    names = [name] if name else list(servers)
    for one in names:
        server = _named(document, "servers", str(one))
        spoken = str(server.get("protocol", ""))
        if spoken.rstrip("s") != protocol and spoken != protocol and protocol and not name:
            continue
        if spoken not in SPOKEN:
            text = f"the server {one!r} speaks {spoken!r}: only {', '.join(SPOKEN)} are spoken here"
            raise refused(text)
        defaults = {
            key: value.get("default")
            for key, value in (server.get("variables") or {}).items()
            if isinstance(value, Mapping)
        }
        place = f"{server.get('host', '')}{server.get('pathname') or ''}" if new else server["url"]
        place = _filled(str(place), {**defaults, **variables})
        return spoken, place if "://" in place else f"{spoken}://{place}"
    raise refused(f"the document has no server that speaks {protocol}")


def _filled(text: str, variables: Mapping[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        chosen = variables.get(found[1])
        if chosen is None:
            raise refused(f"the variable {found[1]!r} of {text[:100]!r} is not given")
        return str(chosen)

    return _VARIABLE.sub(value, text)


def _follow(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    for _ in range(20):
        if not isinstance(value, Mapping):
            return {}
        ref = value.get("$ref")
        if not isinstance(ref, str):
            return value
        if not ref.startswith("#/"):
            raise refused(f"the document refers to {ref[:100]!r}, outside of it: bundle it first")
        value = document
        for part in ref[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, Mapping) else None
    raise refused("the document's references go round in circles")
