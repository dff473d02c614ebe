"""Reading calls: each kind with the arguments it takes, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote, suggest
from onward.languages.serverless.model import Duration, Task
from onward.languages.serverless.read.arguments import Arguments
from onward.languages.serverless.read.asyncapi import read_asyncapi
from onward.languages.serverless.read.events import ReadList
from onward.languages.serverless.read.reader import TASK_INPUT, DocumentReader
from onward.languages.serverless.read.run import check_process
from onward.languages.serverless.read.task_fields import read_duration
from onward.languages.serverless.templates import expression_in

# -- Reading calls of services with a protocol of their own: gRPC, A2A, MCP.


_A2A = (
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
_MCP = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
)


def read_grpc(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Task:
    """Return a call of a method of a gRPC service."""
    fields.reject_unknown(("proto", "service", "method", "arguments", "authentication"))
    fields.text("method", required="name the method")
    _parameters(fields, "arguments", desk)
    arguments = Arguments(desk, fields.at, dict(fields.value))
    arguments.value["proto"] = arguments.resource(fields, "proto")
    given = fields.mapping("service")
    service = fields.inside("service", given)
    service.reject_unknown(("name", "host", "port", "authentication"))
    service.text("name", required="name the service as the .proto file does")
    service.text("host", required="write the name of the host")
    if not isinstance(given.get("port"), str):
        service.number("port", 1, 65535, whole=True)
    inside = {name: one for name, one in given.items() if name != "authentication"}
    arguments.value["service"] = inside
    for owner in (service, fields):
        policy = owner.value.get("authentication")
        if policy is not None:
            at = join(owner.at, "authentication")
            arguments.value["authentication"] = arguments.policy(policy, at, "/authentication")
            break
    return arguments.call(base, "grpc")


def read_a2a(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Task:
    """Return a call over A2A."""
    fields.reject_unknown(("method", "agentCard", "server", "parameters"))
    _method(fields, _A2A, desk)
    _parameters(fields, "parameters", desk)
    arguments = Arguments(desk, fields.at, dict(fields.value))
    known = [name for name in ("agentCard", "server") if fields.value.get(name) is not None]
    if len(known) != 1:
        what = "both an agentCard and a server" if known else "neither an agentCard nor a server"
        desk.error("BAD_FIELD", f"{fields.owner} has {what}", fields.at, "write one of them")
    if "agentCard" in known:
        arguments.value["agentCard"] = arguments.resource(fields, "agentCard")
    if "server" in known:
        at = join(fields.at, "server")
        arguments.value["server"] = arguments.endpoint(fields.value["server"], at, "/server")
    return arguments.call(base, "a2a")


def read_mcp(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Task:
    """Return a call of a server of the Model Context Protocol."""
    known = ("protocolVersion", "method", "parameters", "timeout", "transport", "client")
    fields.reject_unknown(known)
    _method(fields, _MCP, desk)
    fields.text("protocolVersion")
    _parameters(fields, "parameters", desk)
    client = fields.inside("client", fields.mapping("client"))
    client.reject_unknown(("name", "version", "description"))
    if fields.value.get("client") is not None:
        for name in ("name", "version"):
            client.text(name, required=f"write the client's {name}")
    rest = {name: one for name, one in fields.value.items() if name not in ("transport", "timeout")}
    arguments = Arguments(desk, fields.at, rest)
    _transport(fields, arguments, desk)
    return arguments.call({**base, "timeout": _limit(fields, base, desk)}, "mcp")


def _limit(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Duration | None:
    """Return how long the call may take: as the task says it, or its arguments."""
    own: Duration | None = base.get("timeout")
    given, at = fields.value.get("timeout"), join(fields.at, "timeout")
    if given is None:
        return own
    if own is not None:
        message = "the task has a timeout, and its arguments have one too"
        desk.error("BAD_FIELD", message, at, "leave one of them out")
    return read_duration(desk, given, at, TASK_INPUT)


def _transport(fields: Fields, arguments: Arguments, desk: DocumentReader) -> None:
    transport = fields.inside("transport", fields.mapping("transport"))
    transport.reject_unknown(("http", "stdio", "options"))
    if transport.value.get("options"):
        at = join(transport.at, "options")
        desk.unsupported("`options` of a transport", at, "there are none: leave it out")
    given = [name for name in ("http", "stdio") if isinstance(transport.value.get(name), dict)]
    if len(given) != 1:
        what = "both an http and a stdio transport" if given else "no transport"
        hint = "write transport: {http: {endpoint: URL}}, or {stdio: {command: PROGRAM}}"
        desk.error("MISSING_FIELD", f"{fields.owner} has {what}", fields.at, hint)
    if given == ["stdio"]:
        stdio = transport.inside("stdio", transport.value["stdio"])
        stdio.reject_unknown(("command", "arguments", "environment"))
        stdio.text("command", required="name the program that is the server")
        check_process(stdio, desk)
        arguments.moved("/process", stdio.at)
        arguments.value["process"] = dict(stdio.value)
    if given == ["http"]:
        http = transport.inside("http", transport.value["http"])
        http.reject_unknown(("endpoint", "headers"))
        at = join(http.at, "endpoint")
        arguments.value["server"] = arguments.endpoint(http.value.get("endpoint"), at, "/server")
        if http.value.get("headers") is not None:
            _parameters(http, "headers", desk)
            arguments.moved("/headers", join(http.at, "headers"))
            arguments.value["headers"] = http.value["headers"]


def _method(fields: Fields, known: tuple[str, ...], desk: DocumentReader) -> None:
    method = fields.text("method", required=f"one of: {', '.join(known)}")
    if method is None or method in known or expression_in(method) is not None:
        return
    hint = suggest(method, known) or f"one of: {', '.join(known)}"
    desk.error("BAD_FIELD", f"there is no method {quote(method)}", join(fields.at, "method"), hint)


def _parameters(fields: Fields, name: str, desk: DocumentReader) -> None:
    one = fields.value.get(name)
    if one is not None and not isinstance(one, dict | str):
        message = f"{name} must be a mapping or an expression, not {kind_of(one)}"
        desk.error("BAD_FIELD", message, join(fields.at, name))


_HTTP = ("method", "endpoint", "headers", "body", "query", "output", "redirect")
_OPENAPI = ("document", "operationId", "parameters", "authentication", "output", "redirect")
_OUTPUTS = ("raw", "content", "response")

ReadCall = Callable[[Fields, dict[str, Any], DocumentReader], Task | None]


def read_call(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, read_list: ReadList
) -> Task | None:
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


def _read_http(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Task:
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


def _read_openapi(fields: Fields, base: dict[str, Any], desk: DocumentReader) -> Task:
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


def _mapping_or_expression(fields: Fields, name: str, desk: DocumentReader) -> None:
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
