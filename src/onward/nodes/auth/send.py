"""Requests of tasks: sent under an authentication policy, told once when they cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never
from urllib.parse import urlencode, urlsplit

from onward.kernel.redaction import REDACTED
from onward.nodes.auth.digest import answer_challenge
from onward.nodes.auth.oauth import token_for
from onward.nodes.auth.policy import Authentication, resolved
from onward.nodes.failures import Refused
from onward.nodes.http.headers import credential_header
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest

DAY_S = 86_400.0
"""How long a call may take at most; how long it should take is the task's own timeout."""
_WITH_KEY = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def with_marks(headers: dict[str, str], method: str, tools: Tools) -> dict[str, str]:
    """Return headers that say which work this is, unless the document says it itself."""
    marks = {}
    if tools.idempotency_key and method in _WITH_KEY:
        marks["idempotency-key"] = tools.idempotency_key
    if tools.traceparent:
        marks["traceparent"] = tools.traceparent
    return {**marks, **headers}


async def send(tools: Tools, request: HttpRequest, policy: Authentication | None) -> HttpAnswer:
    """Send a request as the one whom the policy names; raises Refused and OutsideError.

    A token that was fetched for the call does not come back in its answer.
    """
    if policy is None:
        return await tools.http.send(request)
    policy = resolved(policy, tools.secrets)
    match policy.scheme:
        case "basic" | "bearer":
            return await tools.http.send(_as(request, _plain(policy)))
        case "digest":
            return await _digested(tools, request, policy)
        case "oauth2" | "oidc":
            return await _with_token(tools, request, policy)
        case _:
            assert_never(policy.scheme)


async def authorization(tools: Tools, policy: Authentication | None) -> str:
    """Return what a policy puts into an Authorization header, for what is not HTTP; "" for none."""
    if policy is None:
        return ""
    policy = resolved(policy, tools.secrets)
    match policy.scheme:
        case "basic" | "bearer":
            return _plain(policy)
        case "digest":
            raise Refused("digest authentication is only for http", "HTTP_REQUEST")
        case "oauth2" | "oidc":
            return (await token_for(tools.http, policy)).header
        case _:
            assert_never(policy.scheme)


def _plain(policy: Authentication) -> str:
    if policy.scheme == "bearer":
        fields = {"token": policy.token}
    else:
        fields = {"username": policy.username, "password": policy.password}
    return credential_header(fields)["Authorization"]


def _as(request: HttpRequest, authorization: str) -> HttpRequest:
    return replace(request, headers={**request.headers, "authorization": authorization})


async def _with_token(tools: Tools, request: HttpRequest, policy: Authentication) -> HttpAnswer:
    token = await token_for(tools.http, policy)
    answer = await tools.http.send(_as(request, token.header))
    if answer.status == 401:  # it may have been taken back before its time
        token = await token_for(tools.http, policy, stale=token.value)
        answer = await tools.http.send(_as(request, token.header))
    return _without(answer, token.value)


async def _digested(tools: Tools, request: HttpRequest, policy: Authentication) -> HttpAnswer:
    answer = await tools.http.send(request)
    if answer.status != 401:
        return answer
    parts = urlsplit(request.url)
    query = "&".join(one for one in (parts.query, urlencode(request.query)) if one)
    header = answer_challenge(
        answer.headers.get("www-authenticate", ""),
        method=request.method,
        uri=(parts.path or "/") + (f"?{query}" if query else ""),
        username=policy.username,
        password=policy.password,
    )
    return answer if header is None else await tools.http.send(_as(request, header))


def _without(answer: HttpAnswer, token: str) -> HttpAnswer:
    if len(token) < 8:  # too short to be told from other text
        return answer
    body = answer.body.replace(token.encode(), REDACTED.encode())
    headers = {k: v.replace(token, REDACTED) for k, v in answer.headers.items()}
    return replace(answer, body=body, headers=headers)
