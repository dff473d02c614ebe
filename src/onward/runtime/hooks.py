"""Requests that fire webhooks: what a run learns of them, and what its output answers."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onward.errors import MessageError
from onward.kernel.json import decode, too_deep

UNTOLD = frozenset({"authorization", "cookie", "proxy-authorization", "webhook-signature"})
"""Headers that are no business of a history that many can read."""
UNSENT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "x-request-id"}
)
"""Headers of an answer that are ours to set."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e]{0,4000}")


class Reply(NamedTuple):
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
    told = {name: value for name, value in headers if name not in UNTOLD}
    kind = told.get("content-type", "").partition(";")[0].strip().lower()
    value, raw = _body(kind, body)
    return {
        "trigger_id": trigger_id,
        "kind": "webhook",
        "method": method,
        "path": path,
        "headers": told,
        "query": _gathered(query),
        "body": value,
        "raw": raw,
    }


def _gathered(query: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the query by name; one that is given several times is a list."""
    found: dict[str, list[str]] = {}
    for name, value in query:
        found.setdefault(name, []).append(value)
    return {name: some[0] if len(some) == 1 else some for name, some in found.items()}


def _body(kind: str, body: bytes) -> tuple[Any, str | None]:
    if not body:
        return None, None
    if kind == "application/json" or kind.endswith("+json"):
        if too_deep(body):
            raise MessageError("the body nests too deeply")
        return decode(body), None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None, base64.b64encode(body).decode()
    return text, None


def reply_of(output: Any) -> Reply:
    """Return the answer in a node's output.

    An object of `status`, `headers` and `body` alone is the answer; anything else is its body.
    """
    if isinstance(output, Mapping) and output and set(output) <= {"status", "headers", "body"}:
        status, headers = output.get("status", 200), output.get("headers") or {}
        if isinstance(status, int) and 200 <= status <= 599 and isinstance(headers, Mapping):
            return _reply(status, headers, output.get("body"))
    return _reply(200, {}, output)


def _reply(status: int, given: Mapping[str, Any], body: Any) -> Reply:
    headers = {
        name.lower(): value
        for name, value in given.items()
        if isinstance(value, str)
        and _NAME.fullmatch(name)
        and _VALUE.fullmatch(value)
        and name.lower() not in UNSENT
    }
    if status in {204, 304}:
        return Reply(status, headers, b"")
    if isinstance(body, str):
        headers.setdefault("content-type", "text/plain; charset=utf-8")
        return Reply(status, headers, body.encode())
    headers.setdefault("content-type", "application/json")
    return Reply(status, headers, msgspec.json.encode(body))
