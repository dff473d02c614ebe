"""`call: mcp` of the Serverless Workflow DSL: a server of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.failures import RefusedError, bad_request, failure_of
from onward.nodes.http.headers import request_headers
from onward.nodes.http.url import public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation
from onward.nodes.serverless.json_rpc import call_rpc, result_of
from onward.nodes.serverless.run import Scalar, as_texts
from onward.ports.nodes.commands import Command, Conversation
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpRequest, OutsideError

_SESSION = "mcp-session-id"
_CLOSE_TIMEOUT_S = 5.0
_LARGEST_MESSAGE = 10 * 1024 * 1024
_MOST_LINES = 100_000
_NO_METHOD = {"code": -32601, "message": "this client does nothing for its servers"}
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_MOST_PAGES = 100


class McpClient(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The client, as the server sees it."""

    name: str = "onward"
    version: str = "1"
    description: str = ""


class McpProcess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server that is started for the call; messages go over its input and output."""

    command: str
    arguments: list[Scalar] | None = None
    environment: dict[str, Scalar] | None = None


class CallMcp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a server of the Model Context Protocol: initialize, call the method, and close."""

    method: str
    server: ResourceLocation | None = None
    process: McpProcess | None = None
    headers: dict[str, Scalar] | None = None
    protocolVersion: str = "2025-06-18"  # noqa: N815  (the language's own name)
    parameters: dict[str, Any] | None = None
    client: McpClient = McpClient()

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Call the method once."""
        try:
            async with self._connect(tools) as server:
                await self._initialize(server)
                return Succeeded(await self._ask(server))
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem, "the server cannot be reached")

    def _connect(self, tools: Tools) -> AbstractAsyncContextManager[McpConnection]:
        if self.process is not None:
            argv = (self.process.command, *as_texts(self.process.arguments or ()))
            if not argv[0]:
                raise RefusedError("the server to start has no name", "RUN_INVALID")
            values = self.process.environment or {}
            environment = dict(zip(values, as_texts(values.values()), strict=True))
            return connect_process(tools, argv, environment)
        if self.server is None:
            raise bad_request("there is neither a server nor a process to call")
        return connect_http(tools, self.server, request_headers(self.headers or {}))

    async def _initialize(self, server: McpConnection) -> None:
        hello = {
            "protocolVersion": self.protocolVersion,
            "capabilities": {},
            "clientInfo": {"name": self.client.name, "version": self.client.version},
        }
        greeting = await server.ask({"id": 0, "method": "initialize", "params": hello})
        version = greeting.get("protocolVersion") if isinstance(greeting, dict) else None
        if not isinstance(version, str):
            raise RefusedError(f"{server.name} does not speak this protocol", "RPC")
        server.use_version(version)
        await server.notify({"method": "notifications/initialized"})

    async def _ask(self, server: McpConnection) -> Any:
        """Return the result; the pages of a list are joined."""
        items: list[Any] = []
        parameters = dict(self.parameters or {})
        name = _LISTS.get(self.method)
        for number in range(1, _MOST_PAGES + 1):
            message = {"id": number, "method": self.method, "params": parameters}
            result = await server.ask(message)
            if name is None or not isinstance(result, dict):
                return result
            items += result.get(name) or []
            if not result.get("nextCursor"):
                return {**result, name: items}
            parameters["cursor"] = result["nextCursor"]
        raise RefusedError(f"{self.method} has more than {_MOST_PAGES} pages", "RPC")


# -- connections ---------------------------------------------------------------------------------


class McpConnection(Protocol):
    """A connection to a server. Its methods raise RefusedError and OutsideError."""

    name: str
    """The server, as messages name it."""

    async def ask(self, message: Mapping[str, Any]) -> Any:
        """Send a message with an `id`, and return its result."""
        ...

    async def notify(self, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer."""
        ...

    def use_version(self, version: str) -> None:
        """Use a version of the protocol from now on."""
        ...


@dataclass(slots=True)
class McpHttpConnection:
    """A connection over streamable HTTP."""

    tools: Tools
    server: ResourceLocation
    headers: dict[str, str]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = public_url(self.server.uri)

    async def ask(self, message: Mapping[str, Any]) -> Any:
        # A server that keeps a session names it in its first answer.
        reply = await call_rpc(self.tools, self.server, self.headers, message)
        if _SESSION in reply.headers:
            self.headers = {**self.headers, _SESSION: reply.headers[_SESSION]}
        return reply.results[-1]

    async def notify(self, message: Mapping[str, Any]) -> None:
        await call_rpc(self.tools, self.server, self.headers, message)

    def use_version(self, version: str) -> None:
        self.headers = {**self.headers, "mcp-protocol-version": version}

    async def close(self) -> None:
        """End the session, if the server keeps one; a failure to do so does not matter."""
        if _SESSION not in self.headers:
            return
        request = HttpRequest(
            method="DELETE", url=self.server.uri, headers=self.headers, timeout_s=_CLOSE_TIMEOUT_S
        )
        try:
            await self.tools.http.send(request)
        except OutsideError:
            return


@asynccontextmanager
async def connect_http(
    tools: Tools, server: ResourceLocation, headers: dict[str, str]
) -> AsyncIterator[McpConnection]:
    """Connect to a server over HTTP."""
    connection = McpHttpConnection(tools, server, headers)
    try:
        yield connection
    finally:
        await connection.close()


@dataclass(slots=True)
class McpProcessConnection:
    """A connection to a process, one JSON message a line."""

    name: str
    _process: Conversation

    async def ask(self, message: Mapping[str, Any]) -> Any:
        await self.notify(message)
        for _ in range(_MOST_LINES):
            received = _read(await self._process.hear())
            if "method" in received:
                await self._answer(received)
            elif received.get("id") == message["id"]:
                return result_of(received, self.name)
        raise RefusedError(f"{self.name} sends everything but an answer", "RPC")

    async def notify(self, message: Mapping[str, Any]) -> None:
        await self._process.say(msgspec.json.encode({"jsonrpc": "2.0", **message}))

    def use_version(self, version: str) -> None:
        """Do nothing: a process needs it once."""

    async def _answer(self, received: Mapping[str, Any]) -> None:
        """Answer a request of the server, so that it does not wait for ever."""
        if received.get("id") is None:
            return
        alive = received["method"] == "ping"
        await self.notify(
            {"id": received["id"], **({"result": {}} if alive else {"error": _NO_METHOD})}
        )


def _read(line: bytes) -> Mapping[str, Any]:
    """Return the message on a line; {} for a line that is none."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return message if isinstance(message, Mapping) else {}


@asynccontextmanager
async def connect_process(
    tools: Tools, argv: tuple[str, ...], environment: Mapping[str, str]
) -> AsyncIterator[McpConnection]:
    """Start a server, and connect to it until the end of the call."""
    command = Command(argv=argv, environment=environment, max_bytes=_LARGEST_MESSAGE)
    async with tools.commands.converse("mcp", command) as process:
        yield McpProcessConnection(argv[0], process)
