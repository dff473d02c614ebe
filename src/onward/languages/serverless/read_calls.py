"""Reading calls: each kind with the arguments it takes, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onward.languages.graph.fields import Fields
from onward.languages.graph.findings import join, kind_of, quote
from onward.languages.serverless.arguments import Arguments
from onward.languages.serverless.desk import Desk
from onward.languages.serverless.model import Task
from onward.languages.serverless.read_asyncapi import read_asyncapi
from onward.languages.serverless.read_events import ReadList
from onward.languages.serverless.read_remotes import read_a2a, read_grpc, read_mcp

_HTTP = ("method", "endpoint", "headers", "body", "query", "output", "redirect")
_OPENAPI = ("document", "operationId", "parameters", "authentication", "output", "redirect")
_OUTPUTS = ("raw", "content", "response")

ReadCall = Callable[[Fields, dict[str, Any], Desk], Task | None]


def read_call(fields: Fields, base: dict[str, Any], desk: Desk, read_list: ReadList) -> Task | None:
    """Return a call, or nothing after what is wrong with it was reported."""
    function = fields.text("call", required="name what is called, such as http")
    at = join(fields.at, "call")
    if function is None:
        return None
    if function not in KNOWN:
        desk.error(
            "UNKNOWN_NAME",
            f"calling the function {quote(function)} is not possible: it is not known",
            at,
            _remedy(function),
        )
        return None
    given = desk.fields(fields.mapping("with"), f'{fields.owner}: "with"', join(fields.at, "with"))
    if function == "asyncapi":
        return read_asyncapi(given, base, desk, read_list)
    return _READERS[function](given, base, desk)


def _remedy(function: str) -> str:
    if "@" in function or "://" in function:
        return "functions from outside are fetched by `onward run`, `validate` and `submit`"
    return f"define it under /use/functions, or call one of: {', '.join(KNOWN)}"


def _read_http(fields: Fields, base: dict[str, Any], desk: Desk) -> Task:
    fields.reject_unknown(_HTTP)
    fields.text("method", required="write method: get")
    _check_answer(fields)
    for name in ("headers", "query"):
        _mapping_or_expression(fields, name, desk)
    arguments = Arguments(desk, fields.at, dict(fields.value))
    at = join(fields.at, "endpoint")
    endpoint = arguments.endpoint(arguments.value.pop("endpoint", None), at, "")
    arguments.uri("/endpoint")
    arguments.value["endpoint"] = endpoint["uri"]
    if "authentication" in endpoint:
        arguments.value["authentication"] = endpoint["authentication"]
    return arguments.call(base, "http")


def _read_openapi(fields: Fields, base: dict[str, Any], desk: Desk) -> Task:
    fields.reject_unknown(_OPENAPI)
    fields.text("operationId", required="name the operation")
    _check_answer(fields)
    _mapping_or_expression(fields, "parameters", desk)
    arguments = Arguments(desk, fields.at, dict(fields.value))
    arguments.value["document"] = arguments.resource(fields, "document")
    if fields.value.get("authentication") is not None:
        at = join(fields.at, "authentication")
        policy = arguments.policy(fields.value["authentication"], at, "/authentication")
        arguments.value["authentication"] = policy
    return arguments.call(base, "openapi")


def _check_answer(fields: Fields) -> None:
    fields.choice("output", _OUTPUTS)
    if not isinstance(fields.value.get("redirect"), str):
        fields.flag("redirect")


def _mapping_or_expression(fields: Fields, name: str, desk: Desk) -> None:
    one = fields.value.get(name)
    if one is not None and not isinstance(one, dict | str):
        message = f"{name} must be a mapping or an expression, not {kind_of(one)}"
        desk.error("BAD_FIELD", message, join(fields.at, name))


_READERS: dict[str, ReadCall] = {
    "a2a": read_a2a,
    "grpc": read_grpc,
    "http": _read_http,
    "mcp": read_mcp,
    "openapi": _read_openapi,
}
KNOWN = ("asyncapi", *_READERS)
"""What can be called, besides functions."""
