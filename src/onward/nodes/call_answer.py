"""What comes of a call over HTTP: the answer in the form asked for, or the error that it is."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Literal

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.http_body import decode_body
from onward.nodes.http_url import public_url
from onward.ports.outside import HttpAnswer, HttpRequest

Output = Literal["raw", "content", "response"]
_LONGEST_DETAIL = 2_000


def outcome(
    request: HttpRequest, answer: HttpAnswer, output: Output | None, redirect: bool | None
) -> Succeeded | Failed:
    """Return the answer as `output` says; one that is no success is an error with its status."""
    content, _ = decode_body(answer.body, answer.headers.get("content-type", ""))
    if not 200 <= answer.status < (400 if redirect else 300):
        where = f"{request.method} {public_url(request.url)} answered {answer.status}"
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        message = f"{where}: {text[:_LONGEST_DETAIL]}" if answer.body else where
        return Failed(NodeError(message, "HTTP_STATUS", {"status": answer.status}))
    match output:
        case "raw":
            return Succeeded(b64encode(answer.body).decode())
        case "response":
            return Succeeded(_response(request, answer, content))
        case _:
            return Succeeded(content if answer.body else None)


def _response(request: HttpRequest, answer: HttpAnswer, content: Any) -> dict[str, Any]:
    """Return the whole exchange; who called is not repeated."""
    sent = {name: one for name, one in request.headers.items() if name != "authorization"}
    return {
        "request": {"method": request.method, "uri": request.url, "headers": sent},
        "statusCode": answer.status,
        "headers": dict(answer.headers),
        "content": content if answer.body else None,
    }
