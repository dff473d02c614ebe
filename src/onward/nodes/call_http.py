"""`call: http` of the Serverless Workflow DSL: one request, its answer in the form asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.authentication import Authentication
from onward.nodes.call_answer import Output, outcome
from onward.nodes.calling import DAY_S, send, with_marks
from onward.nodes.http_body import encode_body
from onward.nodes.http_headers import request_headers
from onward.nodes.http_url import check_url, public_url, query_pairs
from onward.nodes.refused import Refused
from onward.ports.node import Tools
from onward.ports.outside import HttpRequest, OutsideError

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
