"""`call: asyncapi` of the Serverless Workflow DSL: a message sent, or messages taken."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication, resolved
from onward.nodes.auth.send import DAY_S, send, with_marks
from onward.nodes.failures import Refused
from onward.nodes.http.body import encode_body
from onward.nodes.http.headers import request_headers
from onward.nodes.http.message_stream import ACCEPTED, messages_in
from onward.nodes.http.url import check_url
from onward.nodes.serverless.amqp import AmqpTarget, publish, take
from onward.nodes.serverless.asyncapi_document import MessageRoute, find_way, refused
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_value
from onward.nodes.serverless.http import outcome
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpRequest, OutsideError

ANSWER_S = 30.0
"""How long an endpoint may take to begin its answer."""
NOT_MODIFIED = 304

Scalar = str | int | float | bool | None


class AsyncServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server of the document, and what its variables are."""

    name: str
    variables: dict[str, Scalar] | None = None


class AsyncMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to be sent."""

    payload: Any = None
    headers: dict[str, Scalar] | None = None


class Poll(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many messages to take at most, how long to wait for one, and where to go on."""

    most: int = 1
    wait_ms: int = 0
    cursor: Any = None


class CallAsyncapi(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send a message to a channel, or take messages from it: over http, or amqp.

    A message that was sent is the output itself. What was taken comes as `messages`, in the order
    they came, with a `cursor` for the next time.
    """

    document: ResourceLocation
    channel: str | None = None
    operation: str | None = None
    server: AsyncServer | None = None
    protocol: Literal["http", "amqp"] | None = None
    message: AsyncMessage | None = None
    subscription: Poll | None = None
    authentication: Authentication | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Send once, or take what is there."""
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

    async def _over_http(self, tools: Tools, way: MessageRoute) -> Succeeded | Failed:
        url = f"{way.url.rstrip('/')}/{way.address.lstrip('/')}"
        check_url(url)
        making = self._asking if self.message is None else self._telling
        request = making(way, url, tools)
        answer = await send(tools, request, self.authentication)
        came = outcome(request, answer, "content", redirect=answer.status == NOT_MODIFIED)
        if isinstance(came, Failed):
            return came
        if self.message is not None:
            return Succeeded(msgspec.to_builtins(self.message))
        poll = self.subscription or Poll()
        messages, cursor = messages_in(answer, poll.most, poll.cursor)
        return Succeeded({"messages": messages, "cursor": cursor})

    def _telling(self, way: MessageRoute, url: str, tools: Tools) -> HttpRequest:
        message = self.message or AsyncMessage()
        method = str(way.bindings.get("method", "POST")).upper()
        headers = with_marks(request_headers(message.headers or {}), method, tools)
        body, kind = encode_body(message.payload, headers.get("content-type"))
        if kind is not None:
            headers.setdefault("content-type", kind)
        return HttpRequest(
            method=method,
            url=url,
            headers=headers,
            body=body,
            timeout_s=DAY_S,
            follow_redirects=False,
        )

    def _asking(self, way: MessageRoute, url: str, tools: Tools) -> HttpRequest:
        poll = self.subscription or Poll()
        method = str(way.bindings.get("method", "GET")).upper()
        headers = {"accept": ACCEPTED}
        if isinstance(poll.cursor, str):
            headers["last-event-id"] = poll.cursor
        return HttpRequest(
            method=method,
            url=url,
            headers=with_marks(headers, method, tools),
            timeout_s=poll.wait_ms / 1000 + ANSWER_S,
            linger_s=poll.wait_ms / 1000,
            follow_redirects=False,
        )

    async def _over_amqp(self, tools: Tools, way: MessageRoute) -> Succeeded | Failed:
        username = password = ""
        if self.authentication is not None:
            policy = resolved(self.authentication, tools.secrets)
            if policy.scheme != "basic":
                raise refused("amqp knows only basic authentication")
            username, password = policy.username, policy.password
        talk = AmqpTarget(way, username, password)
        if self.message is not None:
            headers = dict(self.message.headers or {})
            headers.setdefault("idempotency-key", tools.idempotency_key)
            if tools.traceparent:
                headers.setdefault("traceparent", tools.traceparent)
            await asyncio.to_thread(publish, talk, self.message.payload, headers)
            return Succeeded(msgspec.to_builtins(self.message))
        poll = self.subscription or Poll()
        messages = await take(talk, poll.most, poll.wait_ms / 1000, tools.after_commit)
        return Succeeded({"messages": messages, "cursor": None})
