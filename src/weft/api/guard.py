"""What stands before every request: who may ask, how much may be sent, and a name for the request.

On loopback nobody logs in, so a web page of another origin, or a name that was rebound to this
machine, must not get through: `Host` and `Origin` are checked. Everywhere else a token is required.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.api.problems import RefusedError, problem_response
from weft.errors import InputError

BODY_LIMIT = 10 * 1024 * 1024
DROPPED = 64 * 1024 * 1024
"""More than this is not read, whatever becomes of the answer."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
OPEN_PATHS = frozenset({"/livez", "/readyz"})
"""What a supervisor asks; it has no token and learns nothing but whether all is well."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask: nobody from outside this machine, unless there is a token."""

    token_hash: str = ""
    """SHA-256 of the token, in hex; "" when none is needed."""
    body_limit: int = BODY_LIMIT

    @classmethod
    def of(cls, host: str, token: str | None) -> Access:
        """Return the access rules of an address; InputError when it must not be served so."""
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise InputError(f"the token is too short: give at least {SHORTEST_TOKEN} characters")
        if token is None and host not in LOOPBACK:
            raise InputError(
                f"{host} can be reached from other machines, so a token is needed:"
                " set WEFT_TOKEN, or listen on 127.0.0.1"
            )
        return cls(hash_of(token) if token else "")


def hash_of(token: str) -> str:
    """Return how a token is kept: only its hash."""
    return hashlib.sha256(token.encode()).hexdigest()


class Guard:
    """ASGI middleware that lets only sound requests through."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and hand it on with its name and its whole body."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = scope["weft.request_id"] = _request_id(headers)
        try:
            self._admit(scope["path"], headers)
            if scope["type"] == "http":
                receive = await self._bounded(headers, receive)
        except RefusedError as refused:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused.code})
                return
            response = problem_response(scope["path"], request_id, refused)
            await response(scope, receive, _signed(send, request_id))
            return
        await self._app(scope, receive, _signed(send, request_id))

    def _admit(self, path: str, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._access.token_hash and _name(host) not in LOOPBACK:
            raise RefusedError(
                403, "FOREIGN_HOST", f"this server answers as localhost only, not as {host!r}"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise RefusedError(403, "FOREIGN_ORIGIN", f"a page of {origin} may not use this server")
        if self._access.token_hash and path not in OPEN_PATHS:
            given = headers.get("authorization", "")
            kind, _, token = given.partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(
                hash_of(token.strip()), self._access.token_hash
            ):
                raise RefusedError(
                    401,
                    "UNAUTHORIZED",
                    "send the token: Authorization: Bearer TOKEN",
                    headers={"www-authenticate": 'Bearer realm="weft"'},
                )

    async def _bounded(self, headers: Headers, receive: Receive) -> Receive:
        """Read the whole body, up to the limit, and return what gives it out again."""
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise RefusedError(400, "BAD_LENGTH", "Content-Length must be a number")
        body, seen = bytearray(), 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return receive
            part = message.get("body", b"")
            seen += len(part)
            if max(seen, int(length)) <= self._access.body_limit:
                body += part
            over = not message.get("more_body", False)
            # Read on for a while, and drop it: who is still sending does not hear an answer.
            if seen > DROPPED or (over and seen > self._access.body_limit):
                raise self._too_large()
            if over:
                return _replayed(bytes(body), receive)

    def _too_large(self) -> RefusedError:
        mib = self._access.body_limit / 1024 / 1024
        return RefusedError(
            413,
            "BODY_TOO_LARGE",
            f"the body has more than {mib:g} MiB: send large data by reference",
            headers={"connection": "close"},
        )


def _replayed(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


def _signed(send: Send, request_id: str) -> Send:
    async def signed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = request_id
            headers["x-content-type-options"] = "nosniff"
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return signed


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else f"req_{secrets.token_hex(10)}"


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
