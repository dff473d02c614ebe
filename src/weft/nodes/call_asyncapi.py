"""`call: asyncapi` of the Serverless Workflow DSL: a message sent, or messages taken."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any, Literal

import msgspec

from weft.kernel.outcome import Failed, NodeError, Succeeded
from weft.nodes.amqp_talk import Talk, publish, take
from weft.nodes.asyncapi_document import Way, find_way, refused
from weft.nodes.authentication import Authentication, resolved
from weft.nodes.call_answer import outcome
from weft.nodes.calling import DAY_S, send, with_marks
from weft.nodes.http_body import encode_body
from weft.nodes.http_headers import request_headers
from weft.nodes.http_url import check_url
from weft.nodes.refused import Refused
from weft.nodes.resources import Endpoint, fetch_value
from weft.ports.node import Tools
from weft.ports.outside import HttpRequest, OutsideError

Scalar = str | int | float | bool | None


class AsyncServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server of the document, and what its variables are."""

    name: str
    variables: dict[str, Scalar] | None = None


class AsyncMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to be sent."""

    payload: Any = None
    headers: dict[str, Scalar] | None = None


class Subscription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many messages to take, and for how long at most."""

    amount: int | None = None
    for_ms: int | None = None


class CallAsyncapi(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send a message to a channel, or take messages from it: over http, or amqp.

    A message that was sent is the output itself; what was taken is a list of messages in the
    order they came. They are acknowledged together, when all are there.
    """

    document: Endpoint
    channel: str | None = None
    operation: str | None = None
    server: AsyncServer | None = None
    protocol: Literal["http", "amqp"] | None = None
    message: AsyncMessage | None = None
    subscription: Subscription | None = None
    authentication: Authentication | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Send once, or take until there are enough."""
        try:
            way = find_way(
                await fetch_value(tools, self.document),
                channel=self.channel,
                operation=self.operation,
                server=self.server.name if self.server else None,
                variables=(self.server.variables if self.server else None) or {},
                protocol=self.protocol,
            )
            if way.protocol.startswith("http"):
                return await self._over_http(tools, way)
            return await self._over_amqp(tools, way)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(str(error), error.code))

    async def _over_http(self, tools: Tools, way: Way) -> Succeeded | Failed:
        if self.message is None:
            raise refused("messages cannot be taken over http: use a server that speaks amqp")
        method = str(way.bindings.get("method", "POST")).upper()
        url = f"{way.url.rstrip('/')}/{way.address.lstrip('/')}"
        check_url(url)
        headers = with_marks(request_headers(self.message.headers or {}), method, tools)
        body, kind = encode_body(self.message.payload, headers.get("content-type"))
        if kind is not None:
            headers.setdefault("content-type", kind)
        request = HttpRequest(
            method=method,
            url=url,
            headers=headers,
            body=body,
            timeout_s=DAY_S,
            follow_redirects=False,
        )
        came = outcome(
            request, await send(tools, request, self.authentication), "content", redirect=False
        )
        return came if isinstance(came, Failed) else Succeeded(msgspec.to_builtins(self.message))

    async def _over_amqp(self, tools: Tools, way: Way) -> Succeeded | Failed:
        username = password = ""
        if self.authentication is not None:
            policy = resolved(self.authentication, tools.secrets)
            if policy.scheme != "basic":
                raise refused("amqp knows only basic authentication")
            username, password = policy.username, policy.password
        stop = threading.Event()
        talk = Talk(way, username, password, stop)
        if self.message is not None:
            headers = dict(self.message.headers or {})
            headers.setdefault("idempotency-key", tools.idempotency_key)
            if tools.traceparent:
                headers.setdefault("traceparent", tools.traceparent)
            await _in_thread(stop, partial(publish, talk, self.message.payload, headers))
            return Succeeded(msgspec.to_builtins(self.message))
        wanted = self.subscription or Subscription(amount=1)
        seconds = None if wanted.for_ms is None else wanted.for_ms / 1000
        return Succeeded(await _in_thread(stop, partial(take, talk, wanted.amount, seconds)))


async def _in_thread(stop: threading.Event, work: Any) -> Any:
    """Do blocking work beside the event loop; when nobody waits any more it is told to stop."""
    try:
        return await asyncio.to_thread(work)
    finally:
        stop.set()
