"""Requests that fire webhooks: the input they give a run, and the answer its output makes."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onward.errors import MessageError
from onward.kernel.json import decode, is_too_deep
from onward.kernel.messages import CompletionMessage, decode_completion
from onward.ports.storage.run_queries import VisitQuery
from onward.runtime.backend import Backend

HIDDEN_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "webhook-signature"})
"""Headers that are left out of a history that many can read."""
RESERVED_HEADERS = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "x-request-id"}
)
"""Headers of an answer that only the server sets."""
HEARTBEAT_S = 5.0
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e]{0,4000}")


class WebhookReply(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def request_of(
    trigger_id: str,
    method: str,
    path: str,
    headers: Iterable[tuple[str, str]],
    query: Sequence[tuple[str, str]],
    body: bytes,
) -> dict[str, Any]:
    """Return what `$trigger` is in the run of a request.

    A body that says it is JSON is decoded (MessageError when it is not), other text is text, and
    anything else is null; `raw` is then the body in base64.
    """
    shown = {name: value for name, value in headers if name not in HIDDEN_HEADERS}
    kind = shown.get("content-type", "").partition(";")[0].strip().lower()
    value, raw = _body(kind, body)
    return {
        "trigger_id": trigger_id,
        "kind": "webhook",
        "method": method,
        "path": path,
        "headers": shown,
        "query": _query_by_name(query),
        "body": value,
        "raw": raw,
    }


def _query_by_name(query: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the query by name; one that is given several times is a list."""
    found: dict[str, list[str]] = {}
    for name, value in query:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _body(kind: str, body: bytes) -> tuple[Any, str | None]:
    if not body:
        return None, None
    if kind == "application/json" or kind.endswith("+json"):
        if is_too_deep(body):
            raise MessageError("the body nests too deeply")
        return decode(body), None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None, base64.b64encode(body).decode()
    return text, None


def reply_of(output: Any) -> WebhookReply:
    """Return the answer in a node's output.

    An object of `status`, `headers` and `body` alone is the answer; anything else is its body.
    """
    if isinstance(output, Mapping) and output and set(output) <= {"status", "headers", "body"}:
        status, headers = output.get("status", 200), output.get("headers") or {}
        if isinstance(status, int) and 200 <= status <= 599 and isinstance(headers, Mapping):
            return _reply(status, headers, output.get("body"))
    return _reply(200, {}, output)


def _reply(status: int, given: Mapping[str, Any], body: Any) -> WebhookReply:
    headers = {
        name.lower(): value
        for name, value in given.items()
        if isinstance(value, str)
        and _NAME.fullmatch(name)
        and _VALUE.fullmatch(value)
        and name.lower() not in RESERVED_HEADERS
    }
    if status in {204, 304}:
        return WebhookReply(status, headers, b"")
    if isinstance(body, str):
        headers.setdefault("content-type", "text/plain; charset=utf-8")
        return WebhookReply(status, headers, body.encode())
    headers.setdefault("content-type", "application/json")
    return WebhookReply(status, headers, msgspec.json.encode(body))


# -- waiting for the output of a run or of one of its nodes ----------------------------------------


class NoAnswerError(Exception):
    """The run ended without the output that was waited for."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


async def answer_of(backend: Backend, execution_id: str, node_id: str | None) -> Any:
    """Return the output of a run, or of a node as soon as it has one; NoAnswerError when it fails.

    It may take as long as the run: the caller sets the time.
    """
    async for page in backend.feed.follow(execution_id, 0, heartbeat_s=HEARTBEAT_S):
        if page.ends or any(
            event.type == "node.succeeded" and event.node_id == node_id for event in page if node_id
        ):
            break
    if node_id:
        return await _output_of_node(backend, execution_id, node_id)
    return await _output_of_run(backend, execution_id)


async def _output_of_node(backend: Backend, execution_id: str, node_id: str) -> Any:
    query = VisitQuery(execution_id=execution_id, limit=1, node_id=node_id, status="success")
    found = await backend.archive.visits(query)
    if not found:
        return await _output_left(backend, execution_id, node_id)
    visit = found[0].run
    if visit.output is not None:
        return decode(visit.output)
    if visit.output_ref is not None:
        body = await backend.archive.payload(execution_id, visit.output_ref.hash)
        return None if body is None else decode(body)
    return None


async def _output_left(backend: Backend, execution_id: str, node_id: str) -> Any:
    """Return the output of a node of a run that has ended, whose event may come after the end."""
    run = await backend.archive.run(execution_id)
    message = decode_completion(run.completion) if run and run.completion else None
    name = f"${node_id}"
    if (
        message is None
        or message.status != "completed"
        or not (name in message.final_context or name in message.context_refs)
    ):
        raise NoAnswerError(f"run {execution_id} ended without {node_id}", "NO_ANSWER")
    return await _entry(backend, execution_id, message, name)


async def _output_of_run(backend: Backend, execution_id: str) -> Any:
    run = await backend.archive.run(execution_id)
    if run is None or run.completion is None:
        raise NoAnswerError(f"run {execution_id} has no result", "NO_ANSWER")
    message = decode_completion(run.completion)
    if message.status != "completed":
        why = f": {message.error.message}" if message.error else ""
        raise NoAnswerError(f"run {execution_id} is {message.status}{why}", "RUN_FAILED")
    outputs = {
        node: await _entry(backend, execution_id, message, f"${node}")
        for node in message.output_nodes
    }
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


async def _entry(backend: Backend, execution_id: str, message: CompletionMessage, name: str) -> Any:
    if name in message.final_context:
        return decode(message.final_context[name])
    if name not in message.context_refs:
        return None
    body = await backend.archive.payload(execution_id, message.context_refs[name].hash)
    return None if body is None else decode(body)
