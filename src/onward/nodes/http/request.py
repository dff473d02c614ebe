"""The HTTP request of a node: headers that identify its work, a credential, an encoded body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from onward.nodes.failures import bad_request
from onward.nodes.http.body import encode_body
from onward.nodes.http.headers import credential_header, request_headers
from onward.nodes.http.url import check_url, query_pairs
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpRequest

DAY_S = 86_400.0
"""How long a call may take at most; how long it should take is the task's own timeout."""
_CHANGING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def build_request(
    tools: Tools,
    request: HttpRequest,
    *,
    headers: Mapping[str, object] | None = None,
    credential: Mapping[str, str] | None = None,
    query: Mapping[str, object] | None = None,
    body: Any = None,
) -> HttpRequest:
    """Return a request with its headers, query and body. Raises RefusedError."""
    check_url(request.url)
    checked = request_headers(headers or {})
    for name, value in credential_header(credential or {}).items():
        if name.lower() in checked:
            raise bad_request(
                f"header {name} is set by `headers` and by the credential: keep one of them"
            )
        checked[name.lower()] = value
    checked = with_work_headers(checked, request.method, tools)
    data, content_type = encode_body(body, checked.get("content-type"))
    if content_type is not None:
        checked.setdefault("content-type", content_type)
    return replace(request, query=query_pairs(query or {}), headers=checked, body=data)


def with_work_headers(headers: Mapping[str, str], method: str, tools: Tools) -> dict[str, str]:
    """Return headers that identify the work and its trace, unless the document sets them itself."""
    added = {}
    if tools.idempotency_key and method in _CHANGING_METHODS:
        added["idempotency-key"] = tools.idempotency_key
    if tools.traceparent:
        added["traceparent"] = tools.traceparent
    return {**added, **headers}
