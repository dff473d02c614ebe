"""Requests sent under an authentication policy."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never
from urllib.parse import urlencode, urlsplit

from onward.kernel.redaction import REDACTED
from onward.nodes.auth.digest import answer_challenge
from onward.nodes.auth.oauth import token_for
from onward.nodes.auth.policy import Authentication, resolve_policy
from onward.nodes.failures import bad_request
from onward.nodes.http.headers import credential_header
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import HttpAnswer, HttpRequest


async def send(tools: Tools, request: HttpRequest, policy: Authentication | None) -> HttpAnswer:
    """Send a request under a policy; raises RefusedError and OutsideError.

    A token that was fetched for the call is removed from its answer.
    """
    if policy is None:
        return await tools.http.send(request)
    policy = resolve_policy(policy, tools.secrets)
    match policy.scheme:
        case "basic" | "bearer":
            return await tools.http.send(_authorize(request, _header_of(policy)))
        case "digest":
            return await _send_digest(tools, request, policy)
        case "oauth2" | "oidc":
            return await _send_with_token(tools, request, policy)
        case _:
            assert_never(policy.scheme)


async def authorization_of(tools: Tools, policy: Authentication | None) -> str:
    """Return the Authorization header of a policy, for calls that are not HTTP; "" for none."""
    if policy is None:
        return ""
    policy = resolve_policy(policy, tools.secrets)
    match policy.scheme:
        case "basic" | "bearer":
            return _header_of(policy)
        case "digest":
            raise bad_request("digest authentication is only for http")
        case "oauth2" | "oidc":
            return (await token_for(tools.http, policy)).header
        case _:
            assert_never(policy.scheme)


def _header_of(policy: Authentication) -> str:
    if policy.scheme == "bearer":
        fields = {"token": policy.token}
    else:
        fields = {"username": policy.username, "password": policy.password}
    return credential_header(fields)["Authorization"]


def _authorize(request: HttpRequest, authorization: str) -> HttpRequest:
    return replace(request, headers={**request.headers, "authorization": authorization})


async def _send_with_token(
    tools: Tools, request: HttpRequest, policy: Authentication
) -> HttpAnswer:
    token = await token_for(tools.http, policy)
    answer = await tools.http.send(_authorize(request, token.header))
    if answer.status == 401:  # it may have been revoked
        token = await token_for(tools.http, policy, stale=token.value)
        answer = await tools.http.send(_authorize(request, token.header))
    return _redact(answer, token.value)


async def _send_digest(tools: Tools, request: HttpRequest, policy: Authentication) -> HttpAnswer:
    answer = await tools.http.send(request)
    if answer.status != 401:
        return answer
    parts = urlsplit(request.url)
    query = "&".join(filter(None, (parts.query, urlencode(request.query))))
    header = answer_challenge(
        answer.headers.get("www-authenticate", ""),
        method=request.method,
        uri=(parts.path or "/") + (f"?{query}" if query else ""),
        username=policy.username,
        password=policy.password,
    )
    return answer if header is None else await tools.http.send(_authorize(request, header))


def _redact(answer: HttpAnswer, token: str) -> HttpAnswer:
    if len(token) < 8:  # too short to be distinguished from other text
        return answer
    body = answer.body.replace(token.encode(), REDACTED.encode())
    headers = {name: text.replace(token, REDACTED) for name, text in answer.headers.items()}
    return replace(answer, body=body, headers=headers)
