"""`call: asyncapi` of the Serverless Workflow DSL: a message sent, or messages taken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

import msgspec

from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.auth.policy import Authentication, resolve_policy
from onward.nodes.auth.send import send
from onward.nodes.failures import RefusedError, bad_request, failure_of
from onward.nodes.http.message_stream import ACCEPTED, messages_in
from onward.nodes.http.request import DAY_S, build_request
from onward.nodes.serverless.amqp import AmqpTarget, publish, take_messages
from onward.nodes.serverless.asyncapi_document import MessageRoute, find_route
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_value
from onward.nodes.serverless.http import http_outcome
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
    """How many messages to take at most, how long to wait for one, and where to continue."""

    most: int = 1
    wait_ms: int = 0
    cursor: Any = None


class CallAsyncapi(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send a message to a channel, or take messages from it: over http, or amqp.

    A message that was sent is the output itself. Messages that were taken are `messages`, in the
    order of arrival, with a `cursor` for the next call.
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
        """Send once, or take the messages that are there."""
        try:
            route = find_route(
                await fetch_value(tools, self.document),
                channel=self.channel,
                operation=self.operation,
                server=self.server.name if self.server else None,
                variables=(self.server.variables if self.server else None) or {},
                protocol=self.protocol,
            )
            if route.protocol.startswith("http"):
                return await self._over_http(tools, route)
            return await self._over_amqp(tools, route)
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem)

    async def _over_http(self, tools: Tools, route: MessageRoute) -> Succeeded | Failed:
        request = self._request(tools, route)
        answer = await send(tools, request, self.authentication)
        found = http_outcome(request, answer, "content", redirect=answer.status == NOT_MODIFIED)
        if isinstance(found, Failed):
            return found
        if self.message is not None:
            return Succeeded(msgspec.to_builtins(self.message))
        poll = self.subscription or Poll()
        messages, cursor = messages_in(answer, poll.most, poll.cursor)
        return Succeeded({"messages": messages, "cursor": cursor})

    def _request(self, tools: Tools, route: MessageRoute) -> HttpRequest:
        url = f"{route.url.rstrip('/')}/{route.address.lstrip('/')}"
        method = str(route.bindings.get("method", "GET" if self.message is None else "POST"))
        request = HttpRequest(
            method=method.upper(), url=url, timeout_s=DAY_S, follow_redirects=False
        )
        if self.message is not None:
            headers, payload = self.message.headers, self.message.payload
            return build_request(tools, request, headers=headers, body=payload)
        poll = self.subscription or Poll()
        wait_s = poll.wait_ms / 1000
        request = replace(request, timeout_s=wait_s + ANSWER_S, linger_s=wait_s)
        request = build_request(tools, request, headers={"accept": ACCEPTED})
        if not isinstance(poll.cursor, str):
            return request
        return replace(request, headers={**request.headers, "last-event-id": poll.cursor})

    async def _over_amqp(self, tools: Tools, route: MessageRoute) -> Succeeded | Failed:
        username = password = ""
        if self.authentication is not None:
            policy = resolve_policy(self.authentication, tools.secrets)
            if policy.scheme != "basic":
                raise bad_request("amqp supports only basic authentication")
            username, password = policy.username, policy.password
        target = AmqpTarget(route, username, password)
        if self.message is not None:
            headers = dict(self.message.headers or {})
            headers.setdefault("idempotency-key", tools.idempotency_key)
            if tools.traceparent:
                headers.setdefault("traceparent", tools.traceparent)
            await asyncio.to_thread(publish, target, self.message.payload, headers)
            return Succeeded(msgspec.to_builtins(self.message))
        poll = self.subscription or Poll()
        messages = await take_messages(target, poll.most, poll.wait_ms / 1000, tools.after_commit)
        return Succeeded({"messages": messages, "cursor": None})
