"""The request for an access token: every grant, and every way a client can show who it is."""

from __future__ import annotations

import hmac
import secrets
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from urllib.parse import quote, urlencode

import msgspec

from onward.nodes.authentication import Authentication
from onward.nodes.refused import Refused

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTED_S = 300

Pairs = list[tuple[str, str]]


def token_request(policy: Authentication, url: str, refresh: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body that ask `url` for a token.

    `refresh`: a token that renews an earlier one, which is then all that is asked for.
    """
    renewal: Pairs = [("grant_type", "refresh_token"), ("refresh_token", refresh)]
    pairs = renewal if refresh else _grant(policy)
    if policy.scopes:
        pairs.append(("scope", " ".join(policy.scopes)))
    pairs += [("audience", one) for one in policy.audiences]
    headers, shown = _client(policy, url)
    pairs += shown
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
            return [*pairs, ("refresh_token", _needed(policy, "refresh_token"))]
        case "authorization_code":
            pairs.append(("code", _needed(policy, "code")))
            for name in ("redirect_uri", "code_verifier"):
                if value := getattr(policy, name):
                    pairs.append((name, value))
            return pairs
        case _:
            if policy.subject is None:
                raise Refused("a token exchange needs a `subject`", "AUTHENTICATION")
            for name, proof in (("subject", policy.subject), ("actor", policy.actor)):
                if proof is not None:
                    pairs.append((f"{name}_token", proof.token))
                    pairs.append((f"{name}_token_type", proof.type))
            return pairs


def _needed(policy: Authentication, name: str) -> str:
    value: str = getattr(policy, name)
    if not value:
        message = f"the grant {policy.grant} needs {name!r}: put it into the policy's secret"
        raise Refused(message, "AUTHENTICATION")
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
            assertion = _signed(client.id, client.secret, url)
        case "private_key_jwt":
            assertion = client.assertion
    return {}, [
        *named,
        ("client_assertion_type", _ASSERTION),
        ("client_assertion", assertion),
    ]


def _signed(client: str, secret: str, audience: str) -> str:
    """Return a statement about who the client is, signed with its secret (RFC 7523)."""
    now = int(time.time())  # noqa: TID251  (said to a server, which has its own clock)
    claims = {
        "iss": client,
        "sub": client,
        "aud": audience,
        "jti": secrets.token_hex(16),
        "iat": now,
        "exp": now + _ASSERTED_S,
    }
    parts = [{"alg": "HS256", "typ": "JWT"}, claims]
    text = b".".join(_packed(msgspec.json.encode(one)) for one in parts)
    proof = hmac.new(secret.encode(), text, sha256).digest()
    return (text + b"." + _packed(proof)).decode()


def issuer_of(token: str) -> str:
    """Return who issued a token that is a JWT; "" when it does not say."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):  # of base64, of JSON
        return ""
    return str(claims.get("iss", "")) if isinstance(claims, dict) else ""


def _packed(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
