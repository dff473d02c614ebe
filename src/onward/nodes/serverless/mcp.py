"""`call: mcp` of the Serverless Workflow DSL: a server of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.failures import Refused
from onward.nodes.http.headers import request_headers
from onward.nodes.http.url import public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation
from onward.nodes.serverless.json_rpc import ask, result_of
from onward.nodes.serverless.run import Scalar, as_texts
from onward.ports.nodes.commands import Command, Conversation
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpRequest, OutsideError

# -- Talks with a server of the Model Context Protocol: over HTTP, or with a process.


_SESSION = "mcp-session-id"
_GOODBYE_S = 5.0
_LARGEST = 10 * 1024 * 1024
_LINES_MAX = 100_000
_NO_METHOD = {"code": -32601, "message": "this client does nothing for its servers"}


class McpConnection(Protocol):
    """A talk with a server. All of it raises Refused and OutsideError."""

    name: str
    """Who the server is, for people."""

    async def ask(self, message: Mapping[str, Any]) -> Any:
        """Send a message with an `id`, and return its result."""
        ...

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer."""
        ...

    def agreed(self, version: str) -> None:
        """Note which version of the protocol is spoken from now on."""
        ...


@dataclass(slots=True)
class McpHttpConnection:
    """A talk over streamable HTTP."""

    tools: Tools
    server: ResourceLocation
    headers: dict[str, str]
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = public_url(self.server.uri)

    async def ask(self, message: Mapping[str, Any]) -> Any:
        """Ask; a server that remembers the talk says so in its first answer."""
        reply = await ask(self.tools, self.server, self.headers, message)
        if _SESSION in reply.headers:
            self.headers = {**self.headers, _SESSION: reply.headers[_SESSION]}
        return reply.results[-1]

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Tell."""
        await ask(self.tools, self.server, self.headers, message)

    def agreed(self, version: str) -> None:
        """Name the version with every message."""
        self.headers = {**self.headers, "mcp-protocol-version": version}

    async def leave(self) -> None:
        """Say goodbye, if the server remembers the talk; whether it hears that does not matter."""
        if _SESSION not in self.headers:
            return
        request = HttpRequest(
            method="DELETE", url=self.server.uri, headers=self.headers, timeout_s=_GOODBYE_S
        )
        try:
            await self.tools.http.send(request)
        except OutsideError:
            return


@asynccontextmanager
async def over_http(
    tools: Tools, server: ResourceLocation, headers: dict[str, str]
) -> AsyncIterator[McpConnection]:
    """Talk with a server over HTTP."""
    talk = McpHttpConnection(tools, server, headers)
    try:
        yield talk
    finally:
        await talk.leave()


@dataclass(slots=True)
class McpProcessConnection:
    """A talk with a process, one JSON message a line."""

    name: str
    _process: Conversation

    async def ask(self, message: Mapping[str, Any]) -> Any:
        """Ask, and wait for the answer; what else the server says meanwhile is seen to."""
        await self.tell(message)
        for _ in range(_LINES_MAX):
            heard = _read(await self._process.hear())
            if "method" in heard:
                await self._answer(heard)
            elif heard.get("id") == message["id"]:
                return result_of(heard, self.name)
        raise Refused(f"{self.name} says everything but an answer", "RPC")

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Tell."""
        await self._process.say(msgspec.json.encode({"jsonrpc": "2.0", **message}))

    def agreed(self, version: str) -> None:
        """Nothing of it is repeated here."""

    async def _answer(self, heard: Mapping[str, Any]) -> None:
        """Answer a question of the server, so that it does not wait for ever."""
        if heard.get("id") is None:
            return
        alive = heard["method"] == "ping"
        await self.tell({"id": heard["id"], **({"result": {}} if alive else {"error": _NO_METHOD})})


def _read(line: bytes) -> Mapping[str, Any]:
    """Return the message on a line; what is none is nothing that was asked for."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return message if isinstance(message, Mapping) else {}


@asynccontextmanager
async def with_process(
    tools: Tools, argv: tuple[str, ...], environment: Mapping[str, str]
) -> AsyncIterator[McpConnection]:
    """Start a server, talk with it, and let it end."""
    command = Command(argv=argv, environment=environment, max_bytes=_LARGEST)
    async with tools.commands.converse("mcp", command) as process:
        yield McpProcessConnection(argv[0], process)


_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_PAGES_MAX = 100


class McpClient(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asks, as the server is told."""

    name: str = "onward"
    version: str = "1"
    description: str = ""


class McpProcess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server that is started for the call, and spoken to over its input and output."""

    command: str
    arguments: list[Scalar] | None = None
    environment: dict[str, Scalar] | None = None


class CallMcp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a server of the Model Context Protocol: greet it, ask, and leave."""

    method: str
    server: ResourceLocation | None = None
    process: McpProcess | None = None
    headers: dict[str, Scalar] | None = None
    protocolVersion: str = "2025-06-18"  # noqa: N815  (the language's own name)
    parameters: dict[str, Any] | None = None
    client: McpClient = McpClient()

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Ask once: greet, ask, and leave."""
        try:
            async with self._talk(tools) as talk:
                await self._greet(talk)
                return Succeeded(await self._ask(talk))
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(f"the server cannot be reached: {error}", error.code))

    def _talk(self, tools: Tools) -> AbstractAsyncContextManager[McpConnection]:
        if self.process is not None:
            argv = (self.process.command, *as_texts(self.process.arguments or ()))
            if not argv[0]:
                raise Refused("the server to start has no name", "RUN_INVALID")
            given = self.process.environment or {}
            environment = dict(zip(given, as_texts(given.values()), strict=True))
            return with_process(tools, argv, environment)
        if self.server is None:
            raise Refused("there is neither a server nor a process to ask", "HTTP_REQUEST")
        return over_http(tools, self.server, request_headers(self.headers or {}))

    async def _greet(self, talk: McpConnection) -> None:
        hello = {
            "protocolVersion": self.protocolVersion,
            "capabilities": {},
            "clientInfo": {"name": self.client.name, "version": self.client.version},
        }
        agreed = await talk.ask({"id": 0, "method": "initialize", "params": hello})
        version = agreed.get("protocolVersion") if isinstance(agreed, dict) else None
        if not isinstance(version, str):
            raise Refused(f"{talk.name} does not speak this protocol", "RPC")
        talk.agreed(version)
        await talk.tell({"method": "notifications/initialized"})

    async def _ask(self, talk: McpConnection) -> Any:
        """Return the result; the pages of a list are put together."""
        items: list[Any] = []
        given = dict(self.parameters or {})
        name = _LISTS.get(self.method)
        for number in range(1, _PAGES_MAX + 1):
            message = {"id": number, "method": self.method, "params": given}
            result = await talk.ask(message)
            if name is None or not isinstance(result, dict):
                return result
            items += result.get(name) or []
            if not result.get("nextCursor"):
                return {**result, name: items}
            given["cursor"] = result["nextCursor"]
        raise Refused(f"{self.method} has more than {_PAGES_MAX} pages", "RPC")
