"""Access tokens of OAuth 2 and OpenID Connect: requested once, cached until they expire.

First the cache and the exchange with the authority, then the request for a token: every grant, and
every way a client can authenticate.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode, urljoin
from weakref import WeakKeyDictionary

import msgspec

from onward.kernel.lru import Lru
from onward.nodes.auth.policy import Authentication
from onward.nodes.failures import RefusedError
from onward.nodes.http.url import check_url, public_url
from onward.ports.nodes.outside import Http, HttpAnswer, HttpRequest, OutsideError

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_S = 300

_EARLY_S = 30.0
"""A token that expires so soon is not used any more: the call itself takes time."""
_MOST_TOKENS = 1_000
_LARGEST_ANSWER = 256 * 1024
_TIMEOUT_S = 30.0
_WELL_KNOWN = "/.well-known/openid-configuration"

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AccessToken:
    """One access token."""

    kind: str
    value: str = field(repr=False)
    until_s: float
    refresh: str = field(default="", repr=False)

    @property
    def fresh(self) -> bool:
        """Return whether it can still be used."""
        return time.monotonic() < self.until_s

    @property
    def header(self) -> str:
        """Return it as the value of an Authorization header."""
        return f"{self.kind} {self.value}"


@dataclass(slots=True)
class _TokenCache:
    tokens: Lru[bytes, AccessToken] = field(default_factory=lambda: Lru(_MOST_TOKENS))
    locks: dict[bytes, asyncio.Lock] = field(default_factory=dict)


# Tokens belong to the client that fetched them: they go when the worker's client goes.
_caches: WeakKeyDictionary[Http, _TokenCache] = WeakKeyDictionary()


async def token_for(http: Http, policy: Authentication, stale: str = "") -> AccessToken:
    """Return a token for a policy; `stale` is one that a server has just refused.

    Calls that need the same token at the same time request it once. Raises RefusedError.
    """
    cache = _caches.setdefault(http, _TokenCache())
    key = sha256(msgspec.json.encode(policy)).digest()
    lock = cache.locks.setdefault(key, asyncio.Lock())
    try:
        async with lock:
            known = cache.tokens.get(key)
            if known is not None and known.fresh and known.value != stale:
                return known
            token = await _fetch(http, policy, known)
            cache.tokens.put(key, token)
            return token
    finally:
        if not lock.locked():
            cache.locks.pop(key, None)


async def _fetch(http: Http, policy: Authentication, known: AccessToken | None) -> AccessToken:
    url = await _token_endpoint(http, policy)
    if known is not None and known.refresh:
        try:
            return await _request_token(http, policy, url, known.refresh)
        except RefusedError:
            pass  # it may have been revoked: begin anew
    return await _request_token(http, policy, url, "")


async def _request_token(http: Http, policy: Authentication, url: str, refresh: str) -> AccessToken:
    headers, body = token_request(policy, url, refresh)
    answer = await _exchange(http, HttpRequest(method="POST", url=url, headers=headers, body=body))
    value = _object(answer)
    if answer.status != 200:
        details = [value.get(name) for name in ("error", "error_description")]
        text = ": ".join(detail[:200] for detail in details if isinstance(detail, str))
        message = f"{public_url(url)} gave no token: it answered {answer.status}"
        raise RefusedError(f"{message}: {text}" if text else message, "AUTHENTICATION")
    token = value.get("access_token")
    if not isinstance(token, str) or not token:
        message = f"{public_url(url)} answered without an access_token"
        raise RefusedError(message, "AUTHENTICATION")
    if policy.issuers and (issuer := issuer_of(token)) not in policy.issuers:
        message = f"the token is issued by {issuer[:100]!r}, which `issuers` does not name"
        raise RefusedError(message, "AUTHENTICATION")
    lasts, kind = value.get("expires_in"), value.get("token_type")
    seconds = lasts if isinstance(lasts, int | float) else 300
    refresh = value.get("refresh_token") or refresh
    kind = kind if isinstance(kind, str) and kind.lower() != "bearer" else "Bearer"
    until_s = time.monotonic() + seconds - _EARLY_S
    return AccessToken(kind, token, until_s, refresh if isinstance(refresh, str) else "")


async def _token_endpoint(http: Http, policy: Authentication) -> str:
    if policy.scheme == "oauth2":
        found = urljoin(policy.authority.rstrip("/") + "/", policy.endpoints.token.lstrip("/"))
        check_url(found)
        return found
    url = policy.authority.rstrip("/").removesuffix(_WELL_KNOWN) + _WELL_KNOWN
    check_url(url)
    answer = await _exchange(http, HttpRequest(method="GET", url=url))
    endpoint = _object(answer).get("token_endpoint")
    if answer.status != 200 or not isinstance(endpoint, str):
        message = f"{public_url(url)} names no token_endpoint: it answered {answer.status}"
        raise RefusedError(message, "AUTHENTICATION")
    check_url(endpoint)
    return endpoint


async def _exchange(http: Http, request: HttpRequest) -> HttpAnswer:
    request = HttpRequest(
        method=request.method,
        url=request.url,
        headers={"accept": "application/json", **request.headers},
        body=request.body,
        timeout_s=_TIMEOUT_S,
        follow_redirects=request.method == "GET",  # the policy decides who gets the request
        max_bytes=_LARGEST_ANSWER,
    )
    try:
        return await http.send(request)
    except OutsideError as error:
        raise RefusedError(f"{public_url(request.url)}: {error}", error.code) from None


def _object(answer: HttpAnswer) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# -- the request for a token ---------------------------------------------------------------------


def token_request(policy: Authentication, url: str, refresh: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of the request for a token.

    `refresh`: the refresh token of an earlier one, which is then the only grant.
    """
    renewal: Pairs = [("grant_type", "refresh_token"), ("refresh_token", refresh)]
    pairs = renewal if refresh else _grant(policy)
    if policy.scopes:
        pairs.append(("scope", " ".join(policy.scopes)))
    pairs += [("audience", audience) for audience in policy.audiences]
    headers, proof = _client(policy, url)
    pairs += proof
    if policy.request.encoding == "application/json":
        body: dict[str, str] = {}
        for name, value in pairs:
            body[name] = f"{body[name]} {value}" if name in body else value
        return {**headers, "content-type": "application/json"}, msgspec.json.encode(body)
    headers["content-type"] = "application/x-www-form-urlencoded"
    return headers, urlencode(pairs).encode()


def _grant(policy: Authentication) -> Pairs:
    pairs: Pairs = [("grant_type", policy.grant)]
    match policy.grant:
        case "client_credentials":
            return pairs
        case "password":
            return [*pairs, ("username", policy.username), ("password", policy.password)]
        case "refresh_token":
            return [*pairs, ("refresh_token", _required(policy, "refresh_token"))]
        case "authorization_code":
            pairs.append(("code", _required(policy, "code")))
            for name in ("redirect_uri", "code_verifier"):
                if value := getattr(policy, name):
                    pairs.append((name, value))
            return pairs
        case _:
            if policy.subject is None:
                raise RefusedError("a token exchange needs a `subject`", "AUTHENTICATION")
            for name, proof in (("subject", policy.subject), ("actor", policy.actor)):
                if proof is not None:
                    pairs.append((f"{name}_token", proof.token))
                    pairs.append((f"{name}_token_type", proof.type))
            return pairs


def _required(policy: Authentication, name: str) -> str:
    value: str = getattr(policy, name)
    if not value:
        message = f"the grant {policy.grant} needs {name!r}: put it into the policy's secret"
        raise RefusedError(message, "AUTHENTICATION")
    return value


def _client(policy: Authentication, url: str) -> tuple[dict[str, str], Pairs]:
    client = policy.client
    named = [("client_id", client.id)] if client.id else []
    match client.authentication:
        case "none":
            return {}, named
        case "client_secret_post":
            return {}, [*named, ("client_secret", client.secret)] if client.secret else named
        case "client_secret_basic":
            pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
            return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}, []
        case "client_secret_jwt":
            assertion = _sign(client.id, client.secret, url)
        case "private_key_jwt":
            assertion = client.assertion
    return {}, [
        *named,
        ("client_assertion_type", _ASSERTION),
        ("client_assertion", assertion),
    ]


def _sign(client: str, secret: str, audience: str) -> str:
    """Return an assertion of the client, signed with its secret (RFC 7523)."""
    now = int(time.time())  # noqa: TID251  (for a server, which has its own clock)
    claims = {
        "iss": client,
        "sub": client,
        "aud": audience,
        "jti": secrets.token_hex(16),
        "iat": now,
        "exp": now + _ASSERTION_S,
    }
    parts = [{"alg": "HS256", "typ": "JWT"}, claims]
    text = b".".join(_encode(msgspec.json.encode(part)) for part in parts)
    proof = hmac.new(secret.encode(), text, sha256).digest()
    return (text + b"." + _encode(proof)).decode()


def issuer_of(token: str) -> str:
    """Return the issuer of a token that is a JWT; "" when it does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):  # of base64, of JSON
        return ""
    return str(claims.get("iss", "")) if isinstance(claims, dict) else ""


def _encode(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
