"""`call: a2a` of the Serverless Workflow DSL: a request by JSON-RPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.failures import RefusedError, bad_request, failure_of
from onward.nodes.http.url import public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_value
from onward.nodes.serverless.json_rpc import call_rpc
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

_STREAMS = ("message/stream", "tasks/resubscribe")


class CallA2a(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a method over A2A; a stream is a list of all its results, in order.

    A message without an id gets one that is the same each time the call is repeated.
    """

    method: str
    agentCard: ResourceLocation | None = None  # noqa: N815  (the language's own name)
    server: ResourceLocation | None = None
    parameters: dict[str, Any] | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Call the method once."""
        try:
            server = await self._server(tools)
            message = {
                "id": 1,
                "method": self.method,
                "params": self._parameters(tools.idempotency_key),
            }
            reply = await call_rpc(tools, server, {}, message)
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem, "the server cannot be reached")
        return Succeeded(list(reply.results) if self.method in _STREAMS else reply.results[-1])

    async def _server(self, tools: Tools) -> ResourceLocation:
        if self.server is not None:
            return self.server
        if self.agentCard is None:
            raise bad_request("the call has neither an agentCard nor a server")
        card = await fetch_value(tools, self.agentCard)
        url = card.get("url") if isinstance(card, Mapping) else None
        if not isinstance(url, str):
            raise bad_request(f"the card {public_url(self.agentCard.uri)} has no url")
        return ResourceLocation(uri=url, authentication=self.agentCard.authentication)

    def _parameters(self, key: str) -> dict[str, Any]:
        parameters = dict(self.parameters or {})
        message = parameters.get("message")
        if self.method.startswith("message/") and isinstance(message, dict):
            defaults = {"messageId": key, "role": "user", "kind": "message"}
            parameters["message"] = {**defaults, **message}
        return parameters
