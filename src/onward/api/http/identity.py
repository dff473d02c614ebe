"""Who calls: by a token, by the cookie of a browser, or because it is this machine."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from onward.api.routing.refusals import RequestRefusedError
from onward.errors import InputError
from onward.ports.security.accounts import Principal
from onward.runtime.security.accounts import Authenticator, hash_of

BODY_LIMIT = 10 * 1024 * 1024
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
AUDIT_KEPT_MS = 365 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask: this machine alone, unless everybody must say who they are."""

    token_hash: str = ""
    """SHA-256 of the operator's token, in hex; "" when there is none."""
    required: bool = False
    """Whether every caller must log in; if not, any caller on this machine is an administrator."""
    secure: bool = False
    """Whether browsers come by HTTPS: cookies then travel no other way."""
    body_limit: int = BODY_LIMIT
    audit_kept_ms: int = AUDIT_KEPT_MS

    @classmethod
    def of(cls, host: str, token: str | None, audit_kept_ms: int = AUDIT_KEPT_MS) -> Access:
        """Return the access rules of an address; InputError when the token will not do."""
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise InputError(f"the token is too short: give at least {SHORTEST_TOKEN} characters")
        outside = host not in LOOPBACK
        return cls(
            hash_of(token) if token else "",
            required=outside or token is not None,
            secure=outside,
            audit_kept_ms=audit_kept_ms,
        )

    @property
    def cookie(self) -> str:
        """Return the name of the login's cookie; browsers hold `__Host-` to its promises."""
        return "__Host-onward" if self.secure else "onward"

    def write_cookie(self, secret: str, lasts_s: int) -> str:
        """Return the header that gives a browser the cookie of a login; "" and 0 take it away."""
        secure = "; Secure" if self.secure else ""
        value = secret or '""'
        return f"{self.cookie}={value}; HttpOnly; Max-Age={lasts_s}; Path=/; SameSite=lax{secure}"

    def check(self, host: str, anyone: bool) -> None:
        """Raise InputError for an address that others reach while no account exists."""
        if self.required and not self.token_hash and not anyone:
            raise InputError(
                f"{host} can be reached from other machines, so an account is needed:"
                " set ONWARD_TOKEN, or run `onward users add` or `onward tokens create` first, or"
                " listen on 127.0.0.1"
            )


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_HEADER = "x-csrf-token"

_LOCAL = Principal(kind="local", name="local", role="admin")
_OPERATOR = Principal(kind="operator", name="operator", role="admin")


class Recogniser:
    """Finds out who asks."""

    def __init__(self, access: Access, authenticator: Authenticator) -> None:
        self._access = access
        self._authenticator = authenticator

    async def who(self, method: str, headers: Mapping[str, str]) -> Principal | RequestRefusedError:
        """Return the caller, or why none is recognised: an operation may need one or not."""
        given = headers.get("authorization")
        if given is not None:
            return await self._by_header(given)
        secret = cookie_of(headers, self._access)
        found = await self._authenticator.by_login(secret) if secret else None
        if found is not None:
            if method not in SAFE and not _same(headers.get(CSRF_HEADER, ""), found.csrf):
                return RequestRefusedError(
                    403,
                    "CSRF",
                    "send X-CSRF-Token with every change: log_in and GET /me return it",
                )
            return found
        return _unknown() if self._access.required else _LOCAL

    async def _by_header(self, given: str) -> Principal | RequestRefusedError:
        kind, _, token = given.partition(" ")
        token = token.strip()
        if kind.lower() == "bearer":
            if self._access.token_hash and _same(hash_of(token), self._access.token_hash):
                return _OPERATOR
            found = await self._authenticator.by_token(token)
            if found is not None:
                return found
        return _unknown()


def cookie_of(headers: Mapping[str, str], access: Access) -> str:
    """Return the secret of the login that a browser sent; "" for none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(access.cookie)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _unknown() -> RequestRefusedError:
    return RequestRefusedError(
        401,
        "UNAUTHORIZED",
        "log in, or send a token that is still valid (Authorization: Bearer TOKEN)",
        headers={"www-authenticate": 'Bearer realm="onward"'},
    )
