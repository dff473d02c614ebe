"""`call: http` of the Serverless Workflow DSL: one request, its answer in the form asked for."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Literal

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import DAY_S, send, with_marks
from onward.nodes.failures import Refused
from onward.nodes.http.body import decode_body, encode_body
from onward.nodes.http.headers import request_headers
from onward.nodes.http.url import check_url, public_url, query_pairs
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest, OutsideError

# -- What comes of a call over HTTP: the answer in the form asked for, or the error that it is.


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


_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})

Scalar = str | int | float | bool | None


class CallHttp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call an HTTP endpoint; an answer that is not a success is an error with its status.

    `redirect`: redirections are followed, and one that leads nowhere is no error.
    """

    method: str
    endpoint: str
    headers: dict[str, Scalar] | None = None
    query: dict[str, Scalar | list[Scalar]] | None = None
    body: Any = None
    output: Output | None = None
    redirect: bool | None = None
    authentication: Authentication | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Send the request once."""
        where = f"{self.method[:40].upper()} {public_url(self.endpoint)}"
        try:
            request = self._request(tools)
            answer = await send(tools, request, self.authentication)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(f"{where}: {error}", error.code))
        return outcome(request, answer, self.output, self.redirect)

    def _request(self, tools: Tools) -> HttpRequest:
        method = self.method.upper()
        if method not in _METHODS:
            known = ", ".join(sorted(_METHODS)).lower()
            raise Refused(f"there is no method {self.method[:40]!r}: use {known}", "HTTP_REQUEST")
        check_url(self.endpoint)
        headers = with_marks(request_headers(self.headers or {}), method, tools)
        body, content_type = encode_body(self.body, headers.get("content-type"))
        if content_type is not None:
            headers.setdefault("content-type", content_type)
        return HttpRequest(
            method=method,
            url=self.endpoint,
            query=query_pairs(self.query or {}),
            headers=headers,
            body=body,
            timeout_s=DAY_S,
            follow_redirects=bool(self.redirect),
        )
