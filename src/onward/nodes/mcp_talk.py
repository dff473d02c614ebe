"""Talks with a server of the Model Context Protocol: over HTTP, or with a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from onward.nodes.http_url import public_url
from onward.nodes.json_rpc import ask, result_of
from onward.nodes.refused import Refused
from onward.nodes.resources import Endpoint
from onward.ports.commands import Command, Conversation
from onward.ports.node import Tools
from onward.ports.outside import HttpRequest, OutsideError

_SESSION = "mcp-session-id"
_GOODBYE_S = 5.0
_LARGEST = 10 * 1024 * 1024
_LINES_MAX = 100_000
_NO_METHOD = {"code": -32601, "message": "this client does nothing for its servers"}


class Talk(Protocol):
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
class HttpTalk:
    """A talk over streamable HTTP."""

    tools: Tools
    server: Endpoint
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
async def over_http(tools: Tools, server: Endpoint, headers: dict[str, str]) -> AsyncIterator[Talk]:
    """Talk with a server over HTTP."""
    talk = HttpTalk(tools, server, headers)
    try:
        yield talk
    finally:
        await talk.leave()


@dataclass(slots=True)
class ProcessTalk:
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
) -> AsyncIterator[Talk]:
    """Start a server, talk with it, and let it end."""
    command = Command(argv=argv, environment=environment, max_bytes=_LARGEST)
    async with tools.commands.converse("mcp", command) as process:
        yield ProcessTalk(argv[0], process)
