"""An authentication policy of the Serverless Workflow DSL, as the argument of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from onward.nodes.failures import RefusedError

Scheme = Literal["basic", "bearer", "digest", "oauth2", "oidc"]
Grant = Literal[
    "authorization_code",
    "client_credentials",
    "password",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:token-exchange",
]
ClientMethod = Literal[
    "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none"
]
Encoding = Literal["application/x-www-form-urlencoded", "application/json"]


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The client that requests a token, and how it authenticates."""

    id: str = ""
    secret: str = ""
    assertion: str = ""
    authentication: ClientMethod = "client_secret_post"


class Endpoints(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The endpoints of an authority, below its own URL. Only `token` is ever called."""

    token: str = "/oauth2/token"  # noqa: S105  (a path)
    revocation: str = ""
    introspection: str = ""


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The form of the request for a token."""

    encoding: Encoding = "application/x-www-form-urlencoded"


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token of a subject or an actor, in an exchange of tokens."""

    token: str
    type: str


class Authentication(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy: its values, or the name of the secret that holds them."""

    scheme: Scheme
    secret: str = ""
    username: str = ""
    password: str = ""
    token: str = ""
    authority: str = ""
    endpoints: Endpoints = Endpoints()
    grant: Grant = "client_credentials"
    client: Client = Client()
    request: TokenRequest = TokenRequest()
    issuers: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    subject: Proof | None = None
    actor: Proof | None = None
    code: str = ""
    redirect_uri: str = ""
    code_verifier: str = ""
    refresh_token: str = ""


_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "basic": ("username", "password"),
    "digest": ("username", "password"),
    "bearer": ("token",),
    "oauth2": ("authority",),
    "oidc": ("authority",),
}
_TEXTS = (
    *("username", "password", "token", "authority", "grant"),
    *("code", "redirect_uri", "code_verifier", "refresh_token"),
)
_LISTS = ("issuers", "scopes", "audiences")
_CLIENT = ("id", "secret", "assertion", "authentication")


def resolve_policy(
    policy: Authentication, secrets: Mapping[str, Mapping[str, str]]
) -> Authentication:
    """Return the policy with its values; raises RefusedError when its secret does not hold them."""
    if not policy.secret:
        return policy
    fields = secrets.get(policy.secret, {})
    missing = [name for name in _REQUIRED[policy.scheme] if name not in fields]
    if missing:
        message = f"the secret {policy.secret!r} has no field {missing[0]!r}"
        raise RefusedError(message, "CREDENTIAL")
    try:
        return msgspec.convert({"scheme": policy.scheme, **_values(fields)}, Authentication)
    except msgspec.ValidationError as problem:
        # The text names a field and what it may hold, never what it holds.
        message = f"the secret {policy.secret!r} is no policy of {policy.scheme}: {problem}"
        raise RefusedError(message, "CREDENTIAL") from None


def _values(fields: Mapping[str, str]) -> dict[str, object]:
    """Return the flat fields of a secret as a policy has them; unknown ones are left out."""
    found: dict[str, object] = {name: fields[name] for name in _TEXTS if name in fields}
    found |= {name: fields[name].split() for name in _LISTS if name in fields}
    client = {name: fields[f"client_{name}"] for name in _CLIENT if f"client_{name}" in fields}
    for name in ("subject", "actor"):
        if f"{name}_token" in fields:
            found[name] = {
                "token": fields[f"{name}_token"],
                "type": fields.get(f"{name}_type", "urn:ietf:params:oauth:token-type:access_token"),
            }
    if "token_endpoint" in fields:
        found["endpoints"] = {"token": fields["token_endpoint"]}
    if "encoding" in fields:
        found["request"] = {"encoding": fields["encoding"]}
    return {**found, "client": client}
