"""`call: mcp` of the Serverless Workflow DSL: a server of the Model Context Protocol."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.call_run import Scalar, as_texts
from onward.nodes.http_headers import request_headers
from onward.nodes.mcp_talk import Talk, over_http, with_process
from onward.nodes.refused import Refused
from onward.nodes.resources import Endpoint
from onward.ports.node import Tools
from onward.ports.outside import OutsideError

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
    server: Endpoint | None = None
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

    def _talk(self, tools: Tools) -> AbstractAsyncContextManager[Talk]:
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

    async def _greet(self, talk: Talk) -> None:
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

    async def _ask(self, talk: Talk) -> Any:
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
