"""`call: http` of the Serverless Workflow DSL: one request, its answer in the form asked for."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from weft.kernel.outcome import Failed, NodeError, Succeeded
from weft.nodes.http_body import decode_body, encode_body
from weft.nodes.http_headers import credential_header, request_headers
from weft.nodes.http_url import check_url, public_url, query_pairs
from weft.nodes.refused import Refused
from weft.ports.node import Tools
from weft.ports.outside import HttpAnswer, HttpRequest, OutsideError

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_WITH_KEY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_LONGEST_DETAIL = 2_000
_DAY_S = 86_400.0

Scalar = str | int | float | bool | None


class Authentication(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who calls: values, or the name of the secret that holds them."""

    scheme: Literal["basic", "bearer"]
    secret: str = ""
    username: str = ""
    password: str = ""
    token: str = ""


class CallHttp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call an HTTP endpoint; an answer that is not a success is an error with its status.

    `redirect`: redirections are followed, and one that leads nowhere is no error.
    """

    method: str
    endpoint: str
    headers: dict[str, Scalar] | None = None
    query: dict[str, Scalar | list[Scalar]] | None = None
    body: Any = None
    output: Literal["raw", "content", "response"] | None = None
    redirect: bool | None = None
    authentication: Authentication | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Send the request once."""
        try:
            request = self._request(tools)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        try:
            answer = await tools.http.send(request)
        except OutsideError as error:
            where = f"{request.method} {public_url(request.url)}"
            return Failed(NodeError(f"{where}: {error}", error.code))
        return self._outcome(request, answer)

    def _request(self, tools: Tools) -> HttpRequest:
        method = self.method.upper()
        if method not in _METHODS:
            known = ", ".join(sorted(_METHODS)).lower()
            raise Refused(f"there is no method {self.method[:40]!r}: use {known}", "HTTP_REQUEST")
        check_url(self.endpoint)
        headers = request_headers(self.headers or {})
        headers |= {k.lower(): v for k, v in credential_header(self._credential(tools)).items()}
        if tools.idempotency_key and method in _WITH_KEY:
            headers.setdefault("idempotency-key", tools.idempotency_key)
        body, content_type = encode_body(self.body, headers.get("content-type"))
        if content_type is not None:
            headers.setdefault("content-type", content_type)
        return HttpRequest(
            method=method,
            url=self.endpoint,
            query=query_pairs(self.query or {}),
            headers=headers,
            body=body,
            timeout_s=_DAY_S,  # how long it may take is the task's own timeout
            follow_redirects=bool(self.redirect),
        )

    def _credential(self, tools: Tools) -> Mapping[str, str]:
        given = self.authentication
        if given is None:
            return {}
        fields: Mapping[str, str] = tools.secrets.get(given.secret, {}) if given.secret else {}
        if given.secret:
            wanted = ("username", "password") if given.scheme == "basic" else ("token",)
            missing = [name for name in wanted if name not in fields]
            if missing:
                message = f"the secret {given.secret!r} has no field {missing[0]!r}"
                raise Refused(message, "CREDENTIAL")
            return {name: fields[name] for name in wanted}
        if given.scheme == "basic":
            return {"username": given.username, "password": given.password}
        return {"token": given.token}

    def _outcome(self, request: HttpRequest, answer: HttpAnswer) -> Succeeded | Failed:
        content, _ = decode_body(answer.body, answer.headers.get("content-type", ""))
        if not 200 <= answer.status < (400 if self.redirect else 300):
            where = f"{request.method} {public_url(request.url)} answered {answer.status}"
            text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
            message = f"{where}: {text[:_LONGEST_DETAIL]}" if answer.body else where
            return Failed(NodeError(message, "HTTP_STATUS", {"status": answer.status}))
        match self.output:
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
