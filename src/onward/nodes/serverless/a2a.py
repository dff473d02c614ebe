"""`call: a2a` of the Serverless Workflow DSL: a question by JSON-RPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.failures import Refused
from onward.nodes.http.url import public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_value
from onward.nodes.serverless.json_rpc import ask
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

_STREAMS = ("message/stream", "tasks/resubscribe")


class CallA2a(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a method over A2A; what streams is a list of all that came, in order.

    A message without an id gets one that is the same each time the call is made again.
    """

    method: str
    agentCard: ResourceLocation | None = None  # noqa: N815  (the language's own name)
    server: ResourceLocation | None = None
    parameters: dict[str, Any] | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Ask once."""
        try:
            server = await self._server(tools)
            message = {
                "id": 1,
                "method": self.method,
                "params": self._parameters(tools.idempotency_key),
            }
            reply = await ask(tools, server, {}, message)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(f"the other side cannot be reached: {error}", error.code))
        return Succeeded(list(reply.results) if self.method in _STREAMS else reply.results[-1])

    async def _server(self, tools: Tools) -> ResourceLocation:
        if self.server is not None:
            return self.server
        if self.agentCard is None:
            raise Refused("neither an agentCard nor a server is given", "HTTP_REQUEST")
        card = await fetch_value(tools, self.agentCard)
        url = card.get("url") if isinstance(card, Mapping) else None
        if not isinstance(url, str):
            message = f"the card {public_url(self.agentCard.uri)} has no url"
            raise Refused(message, "HTTP_REQUEST")
        return ResourceLocation(uri=url, authentication=self.agentCard.authentication)

    def _parameters(self, key: str) -> dict[str, Any]:
        given = dict(self.parameters or {})
        message = given.get("message")
        if self.method.startswith("message/") and isinstance(message, dict):
            given["message"] = {"messageId": key, "role": "user", "kind": "message", **message}
        return given
