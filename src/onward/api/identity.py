"""Who asks: by a token, by the cookie of a browser, or because it is this machine."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

from onward.api.access import Access
from onward.api.problems import RefusedError
from onward.ports.access import Principal
from onward.runtime.access import Doorkeeper, hash_of

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_HEADER = "x-csrf-token"

_LOCAL = Principal(kind="local", name="local", role="admin")
_OPERATOR = Principal(kind="operator", name="operator", role="admin")


class Recogniser:
    """Finds out who asks."""

    def __init__(self, access: Access, doorkeeper: Doorkeeper) -> None:
        self._access = access
        self._doorkeeper = doorkeeper

    async def who(self, method: str, headers: Headers) -> Principal | RefusedError:
        """Return who asks, or why nobody is recognised, which matters where one must be."""
        given = headers.get("authorization")
        if given is not None:
            return await self._by_header(given)
        secret = cookie_of(headers, self._access)
        found = await self._doorkeeper.by_login(secret) if secret else None
        if found is not None:
            if method not in SAFE and not _same(headers.get(CSRF_HEADER, ""), found.csrf):
                return RefusedError(
                    403,
                    "CSRF",
                    "send X-CSRF-Token with every change: log_in and GET /me tell it",
                )
            return found
        return _unknown() if self._access.required else _LOCAL

    async def _by_header(self, given: str) -> Principal | RefusedError:
        kind, _, token = given.partition(" ")
        token = token.strip()
        if kind.lower() == "bearer":
            if self._access.token_hash and _same(hash_of(token), self._access.token_hash):
                return _OPERATOR
            found = await self._doorkeeper.by_token(token)
            if found is not None:
                return found
        return _unknown()


def cookie_of(headers: Headers, access: Access) -> str:
    """Return the secret of the login that a browser sent; "" for none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(access.cookie)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _unknown() -> RefusedError:
    return RefusedError(
        401,
        "UNAUTHORIZED",
        "send a token (Authorization: Bearer TOKEN) that is neither over nor revoked, or log in",
        headers={"www-authenticate": 'Bearer realm="onward"'},
    )
