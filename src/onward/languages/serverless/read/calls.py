"""Calls: each kind of them with the arguments it takes, checked before anything runs.

`read_call` chooses the reader of the kind; the readers follow, then the checks that they share.
`asyncapi` has a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, quote, suggest
from onward.languages.serverless.model import Duration, Task
from onward.languages.serverless.read.arguments import Arguments
from onward.languages.serverless.read.asyncapi import ASYNCAPI_FIELDS, read_asyncapi
from onward.languages.serverless.read.reader import TASK_INPUT, DocumentReader
from onward.languages.serverless.read.run import check_process
from onward.languages.serverless.read.task_fields import check_mapping, read_duration
from onward.languages.serverless.templates import expression_in

_HTTP = ("method", "endpoint", "headers", "body", "query", "output", "redirect")
_OPENAPI = ("document", "operationId", "parameters", "authentication", "output", "redirect")
_GRPC = ("proto", "service", "method", "arguments", "authentication")
_A2A = ("method", "agentCard", "server", "parameters")
_MCP = ("protocolVersion", "method", "parameters", "timeout", "transport", "client")
_OUTPUTS = ("raw", "content", "response")
_A2A_METHODS = (
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
)
_MCP_METHODS = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
)

ReadCall = Callable[[Fields, dict[str, Any], DocumentReader], Task | None]


def read_call(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task | None:
    """Return a call, or nothing after what is wrong with it was reported."""
    function = fields.text("call", required="name what is called, such as http")
    at = join(fields.at, "call")
    if function is None:
        return None
    if function not in KNOWN_CALLS:
        message = f"there is no function {quote(function)} to call"
        reader.error("UNKNOWN_NAME", message, at, _remedy(function))
        return None
    read, known = _CALLS[function]
    return read(fields.inside("with", known), base, reader)


def _remedy(function: str) -> str:
    if "@" in function or "://" in function:
        return "functions from outside are fetched by `onward run`, `validate` and `submit`"
    return f"define it under /use/functions, or call one of: {', '.join(KNOWN_CALLS)}"


def _read_http(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    fields.text("method", required="write method: get")
    _check_answer(fields)
    for name in ("headers", "query"):
        check_mapping(fields, name, reader)
    arguments = Arguments(reader, fields.at, dict(fields.value))
    at = join(fields.at, "endpoint")
    endpoint = arguments.endpoint(arguments.value.pop("endpoint", None), at, "")
    arguments.mark_uri("/endpoint")
    arguments.value["endpoint"] = endpoint["uri"]
    if "authentication" in endpoint:
        arguments.value["authentication"] = endpoint["authentication"]
    return arguments.call(base, "http")


def _read_openapi(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    fields.text("operationId", required="name the operation")
    _check_answer(fields)
    check_mapping(fields, "parameters", reader)
    arguments = Arguments(reader, fields.at, dict(fields.value))
    arguments.value["document"] = arguments.resource(fields, "document")
    arguments.authentication(fields)
    return arguments.call(base, "openapi")


def _read_grpc(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    fields.text("method", required="name the method")
    check_mapping(fields, "arguments", reader)
    arguments = Arguments(reader, fields.at, dict(fields.value))
    arguments.value["proto"] = arguments.resource(fields, "proto")
    service = fields.inside("service", ("name", "host", "port", "authentication"))
    value = service.value
    service.text("name", required="name the service as the .proto file does")
    service.text("host", required="write the name of the host")
    if not isinstance(value.get("port"), str):
        service.number("port", 1, 65535, whole=True)
    arguments.value["service"] = {
        name: value[name] for name in ("name", "host", "port") if name in value
    }
    in_service = value.get("authentication") is not None
    arguments.authentication(service if in_service else fields)
    return arguments.call(base, "grpc")


def _read_a2a(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    _check_method(fields, _A2A_METHODS, reader)
    check_mapping(fields, "parameters", reader)
    arguments = Arguments(reader, fields.at, dict(fields.value))
    known = [name for name in ("agentCard", "server") if fields.value.get(name) is not None]
    if len(known) != 1:
        what = "both an agentCard and a server" if known else "neither an agentCard nor a server"
        reader.error("BAD_FIELD", f"{fields.owner} has {what}", fields.at, "write one of them")
    if "agentCard" in known:
        arguments.value["agentCard"] = arguments.resource(fields, "agentCard")
    if "server" in known:
        at = join(fields.at, "server")
        arguments.value["server"] = arguments.endpoint(fields.value["server"], at, "/server")
    return arguments.call(base, "a2a")


def _read_mcp(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    _check_method(fields, _MCP_METHODS, reader)
    fields.text("protocolVersion")
    check_mapping(fields, "parameters", reader)
    client = fields.inside("client", ("name", "version", "description"))
    if fields.value.get("client") is not None:
        for name in ("name", "version"):
            client.text(name, required=f"write the client's {name}")
    rest = {
        name: value for name, value in fields.value.items() if name not in ("transport", "timeout")
    }
    arguments = Arguments(reader, fields.at, rest)
    _transport(fields, arguments, reader)
    return arguments.call({**base, "timeout": _limit(fields, base, reader)}, "mcp")


def _limit(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Duration | None:
    """Return how long the call may take: as the task says it, or its arguments."""
    own: Duration | None = base.get("timeout")
    limit, at = fields.value.get("timeout"), join(fields.at, "timeout")
    if limit is None:
        return own
    if own is not None:
        message = "the task has a timeout, and its arguments have one too"
        reader.error("BAD_FIELD", message, at, "leave one of them out")
    return read_duration(reader, limit, at, TASK_INPUT)


def _transport(fields: Fields, arguments: Arguments, reader: DocumentReader) -> None:
    transport = fields.inside("transport", ("http", "stdio", "options"))
    if transport.value.get("options"):
        at = join(transport.at, "options")
        reader.unsupported("`options` of a transport", at, "there are none: leave it out")
    kinds = [name for name in ("http", "stdio") if isinstance(transport.value.get(name), dict)]
    if len(kinds) != 1:
        what = "both an http and a stdio transport" if kinds else "no transport"
        hint = "write transport: {http: {endpoint: URL}}, or {stdio: {command: PROGRAM}}"
        reader.error("MISSING_FIELD", f"{fields.owner} has {what}", fields.at, hint)
    if kinds == ["stdio"]:
        stdio = transport.inside("stdio", ("command", "arguments", "environment"))
        stdio.text("command", required="name the program that is the server")
        check_process(stdio, reader)
        arguments.move("/process", stdio.at)
        arguments.value["process"] = dict(stdio.value)
    if kinds == ["http"]:
        http = transport.inside("http", ("endpoint", "headers"))
        at = join(http.at, "endpoint")
        arguments.value["server"] = arguments.endpoint(http.value.get("endpoint"), at, "/server")
        if http.value.get("headers") is not None:
            check_mapping(http, "headers", reader)
            arguments.move("/headers", join(http.at, "headers"))
            arguments.value["headers"] = http.value["headers"]


def _check_method(fields: Fields, known: tuple[str, ...], reader: DocumentReader) -> None:
    method = fields.text("method", required=f"one of: {', '.join(known)}")
    if method is None or method in known or expression_in(method) is not None:
        return
    hint = suggest(method, known) or f"one of: {', '.join(known)}"
    reader.error(
        "BAD_FIELD", f"there is no method {quote(method)}", join(fields.at, "method"), hint
    )


def _check_answer(fields: Fields) -> None:
    fields.choice("output", _OUTPUTS)
    if not isinstance(fields.value.get("redirect"), str):
        fields.flag("redirect")


_CALLS: dict[str, tuple[ReadCall, tuple[str, ...]]] = {
    "asyncapi": (read_asyncapi, ASYNCAPI_FIELDS),
    "a2a": (_read_a2a, _A2A),
    "grpc": (_read_grpc, _GRPC),
    "http": (_read_http, _HTTP),
    "mcp": (_read_mcp, _MCP),
    "openapi": (_read_openapi, _OPENAPI),
}
"""Of each kind of call: its reader, and the fields of its arguments."""
KNOWN_CALLS = tuple(_CALLS)
"""What can be called, besides functions."""
