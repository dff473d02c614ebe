"""JSON-RPC 2.0 over HTTP, its answers as JSON or as a stream of events that ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from onward.nodes.auth.send import send
from onward.nodes.failures import RefusedError
from onward.nodes.http.request import DAY_S
from onward.nodes.http.url import check_url, public_url
from onward.nodes.serverless.fetched_documents import ResourceLocation
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest

_LONGEST_DETAIL = 2_000


@dataclass(frozen=True, slots=True)
class RpcReply:
    """The reply: every result, in order, and its headers."""

    results: tuple[Any, ...]
    headers: Mapping[str, str]


async def call_rpc(
    tools: Tools,
    server: ResourceLocation,
    headers: Mapping[str, str],
    message: Mapping[str, Any],
) -> RpcReply:
    """Send one message; one with an `id` has at least one result.

    Raises RefusedError and OutsideError: an error in the reply has the code RPC, a status that is
    no success RPC_STATUS.
    """
    check_url(server.uri)
    added = {"traceparent": tools.traceparent} if tools.traceparent else {}
    if number := message.get("id"):  # the initialization, which changes nothing, has none
        added["idempotency-key"] = f"{tools.idempotency_key}-{number}"
    request = HttpRequest(
        method="POST",
        url=server.uri,
        headers={
            **added,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
        },
        body=msgspec.json.encode({"jsonrpc": "2.0", **message}),
        timeout_s=DAY_S,
        follow_redirects=False,
    )
    answer = await send(tools, request, server.authentication)
    if not 200 <= answer.status < 300:
        text = answer.body[:_LONGEST_DETAIL].decode("utf-8", "replace")
        text = f"{public_url(server.uri)} answered {answer.status}: {text}"
        raise RefusedError(text.rstrip(": "), "RPC_STATUS")
    if "id" not in message:
        return RpcReply((), answer.headers)
    results = tuple(_results(answer, message["id"], server.uri))
    if not results:
        raise RefusedError(f"{public_url(server.uri)} gave no answer to {message['method']}", "RPC")
    return RpcReply(results, answer.headers)


def _results(answer: HttpAnswer, number: Any, uri: str) -> Iterator[Any]:
    for message in _messages(answer):
        if not isinstance(message, Mapping) or message.get("id") != number:
            continue  # a notification, or a request of the server
        yield result_of(message, public_url(uri))


def result_of(message: Mapping[str, Any], server: str) -> Any:
    """Return the result in an answer of `server`; an error in it is refused with the code RPC."""
    error = message.get("error")
    if error is not None:
        fields = error if isinstance(error, Mapping) else {"message": error}
        text = f"{fields.get('message')} ({fields.get('code')})"
        if "data" in fields:
            text += f": {msgspec.json.encode(fields['data']).decode()}"
        raise RefusedError(f"{server}: {text[:_LONGEST_DETAIL]}", "RPC")
    return message.get("result")


def _messages(answer: HttpAnswer) -> Iterator[Any]:
    try:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            for event in answer.body.decode().replace("\r\n", "\n").split("\n\n"):
                lines = [
                    line[5:].removeprefix(" ") for line in event.split("\n") if line[:5] == "data:"
                ]
                if any(lines):
                    yield msgspec.json.decode("\n".join(lines))
            return
        yield msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError("the answer is not JSON", "RPC") from None
