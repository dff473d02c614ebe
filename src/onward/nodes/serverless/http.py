"""`call: http` of the Serverless Workflow DSL: one request, its answer in the form asked for."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Literal

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import send
from onward.nodes.failures import RefusedError, bad_request, failure_of
from onward.nodes.http.body import decode_body
from onward.nodes.http.request import DAY_S, build_request
from onward.nodes.http.url import public_url
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest, OutsideError

Scalar = str | int | float | bool | None
Output = Literal["raw", "content", "response"]
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_LONGEST_DETAIL = 2_000


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
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem, where)
        return http_outcome(request, answer, self.output, self.redirect)

    def _request(self, tools: Tools) -> HttpRequest:
        method = self.method.upper()
        if method not in _METHODS:
            known = ", ".join(sorted(_METHODS)).lower()
            raise bad_request(f"there is no method {self.method[:40]!r}: use {known}")
        return build_request(
            tools,
            HttpRequest(
                method=method,
                url=self.endpoint,
                timeout_s=DAY_S,
                follow_redirects=bool(self.redirect),
            ),
            headers=self.headers,
            query=self.query,
            body=self.body,
        )


def http_outcome(
    request: HttpRequest, answer: HttpAnswer, output: Output | None, redirect: bool | None
) -> Succeeded | Failed:
    """Return the answer in the form of `output`; one that is no success is an error."""
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
    """Return the whole exchange, without the authorization of the request."""
    sent = {name: text for name, text in request.headers.items() if name != "authorization"}
    return {
        "request": {"method": request.method, "uri": request.url, "headers": sent},
        "statusCode": answer.status,
        "headers": dict(answer.headers),
        "content": content if answer.body else None,
    }
