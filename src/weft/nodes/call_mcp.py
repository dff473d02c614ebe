"""`call: mcp` of the Serverless Workflow DSL: a server of the Model Context Protocol, over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from weft.kernel.outcome import Failed, NodeError, Succeeded
from weft.nodes.http_headers import request_headers
from weft.nodes.http_url import public_url
from weft.nodes.json_rpc import ask
from weft.nodes.refused import Refused
from weft.nodes.resources import Endpoint
from weft.ports.node import Tools
from weft.ports.outside import HttpRequest, OutsideError

_SESSION = "mcp-session-id"
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_PAGES_MAX = 100
_GOODBYE_S = 5.0

Scalar = str | int | float | bool | None


class McpClient(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asks, as the server is told."""

    name: str = "weft"
    version: str = "1"
    description: str = ""


class CallMcp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a server of the Model Context Protocol: greet it, ask, and leave."""

    method: str
    server: Endpoint
    headers: dict[str, Scalar] | None = None
    protocolVersion: str = "2025-06-18"  # noqa: N815  (the language's own name)
    parameters: dict[str, Any] | None = None
    client: McpClient = McpClient()

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Ask once: greet, ask, and leave."""
        try:
            headers = request_headers(self.headers or {})
            talk = await self._greet(tools, headers)
            try:
                return Succeeded(await self._ask(talk))
            finally:
                await talk.leave()
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            where = public_url(self.server.uri)
            return Failed(NodeError(f"{where} cannot be reached: {error}", error.code))

    async def _greet(self, tools: Tools, headers: dict[str, str]) -> _Talk:
        hello = {
            "protocolVersion": self.protocolVersion,
            "capabilities": {},
            "clientInfo": {"name": self.client.name, "version": self.client.version},
        }
        message = {"id": 0, "method": "initialize", "params": hello}
        reply = await ask(tools, self.server, headers, message)
        agreed = reply.results[-1]
        version = agreed.get("protocolVersion") if isinstance(agreed, dict) else None
        if not isinstance(version, str):
            raise Refused(f"{public_url(self.server.uri)} does not speak this protocol", "RPC")
        headers = {**headers, "mcp-protocol-version": version}
        if _SESSION in reply.headers:
            headers[_SESSION] = reply.headers[_SESSION]
        talk = _Talk(tools, self.server, headers)
        await ask(tools, self.server, headers, {"method": "notifications/initialized"})
        return talk

    async def _ask(self, talk: _Talk) -> Any:
        """Return the result; the pages of a list are put together."""
        items: list[Any] = []
        given = dict(self.parameters or {})
        name = _LISTS.get(self.method)
        for number in range(1, _PAGES_MAX + 1):
            message = {"id": number, "method": self.method, "params": given}
            result = (await ask(talk.tools, talk.server, talk.headers, message)).results[-1]
            if name is None or not isinstance(result, dict):
                return result
            items += result.get(name) or []
            if not result.get("nextCursor"):
                return {**result, name: items}
            given["cursor"] = result["nextCursor"]
        raise Refused(f"{self.method} has more than {_PAGES_MAX} pages", "RPC")


@dataclass(frozen=True, slots=True)
class _Talk:
    """A talk with a server."""

    tools: Tools
    server: Endpoint
    headers: dict[str, str]

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
