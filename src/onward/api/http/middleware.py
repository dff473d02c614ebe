"""Middleware before every request: who calls, how much may be sent, and an id for the request.

On loopback there is no login, so a web page of another origin, or a name that was rebound to this
machine, must not get through: `Host` and `Origin` are checked. Whether the caller may do
what is asked is decided where the operation is known: `authorization`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onward.api.http.identity import LOOPBACK, Access, Recogniser
from onward.api.http.problems import problem_response
from onward.api.routing.refusals import RequestRefusedError, make_request_id, refusal_of
from onward.errors import OnwardError
from onward.ports.security.accounts import Principal
from onward.runtime.security.audit import Auditor, AuditRecord, open_record

UNKNOWN_BODY_LIMIT = 1024 * 1024
"""The largest body of a caller that is not recognised."""
READ_AT_MOST = 64 * 1024 * 1024
"""More than this is not read, whatever becomes of the answer."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
"""What every answer says, unless it says something else itself."""


class ApiMiddleware:
    """ASGI middleware that passes valid requests on, and writes their changes to the audit log."""

    def __init__(
        self, app: ASGIApp, access: Access, recogniser: Recogniser, auditor: Auditor
    ) -> None:
        self._app = app
        self._access = access
        self._recogniser = recogniser
        self._auditor = auditor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on with its id, its caller, and its whole body."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = scope["onward.request_id"] = _request_id(headers)
        signed = _signed(send, request_id, https=scope.get("scheme") in {"https", "wss"})
        try:
            self._check_names(headers)
            method = scope.get("method", "GET")
            who = scope["onward.who"] = await self._recogniser.who(method, headers)
            if scope["type"] == "http":
                receive = await self._bounded(headers, receive, self._limit(who))
        except (RequestRefusedError, OnwardError) as problem:
            refused = refusal_of(problem)
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused.code})
                return
            await problem_response(scope["path"], request_id, refused)(scope, receive, signed)
            return
        await self._app(scope, receive, self._audited(scope, signed, open_record()))

    def _audited(self, scope: Scope, send: Send, record: AuditRecord) -> Send:
        """Return a `send` that writes to the audit log before the answer leaves."""

        async def audited(message: Message) -> None:
            if (
                message["type"] == "http.response.start"
                and record.action
                and (record.always or message["status"] < 400)
            ):
                who = scope["onward.who"]
                await self._auditor.write(
                    record,
                    actor=who.actor if isinstance(who, Principal) else "nobody",
                    origin=client_of(scope),
                    request_id=scope["onward.request_id"],
                )
            await send(message)

        return audited

    def _check_names(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._access.required and _name(host) not in LOOPBACK:
            raise RequestRefusedError(
                403, "FOREIGN_HOST", f"this server answers as localhost only, not as {host!r}"
            )
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            raise RequestRefusedError(
                403, "FOREIGN_ORIGIN", f"a page of {origin} may not use this server"
            )

    def _limit(self, who: Principal | RequestRefusedError) -> int:
        limit = self._access.body_limit
        return limit if isinstance(who, Principal) else min(limit, UNKNOWN_BODY_LIMIT)

    async def _bounded(self, headers: Headers, receive: Receive, limit: int) -> Receive:
        """Read the whole body, up to the limit, and return what gives it out again."""
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) < 19):
            raise RequestRefusedError(400, "BAD_LENGTH", "Content-Length must be a number")
        body, seen = bytearray(), 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return receive
            part = message.get("body", b"")
            seen += len(part)
            if max(seen, int(length)) <= limit:
                body += part
            over = not message.get("more_body", False)
            # Read on for a while, and drop it: a client that is still sending reads no answer.
            if seen > READ_AT_MOST or (over and seen > limit):
                raise _too_large(limit)
            if over:
                return _replayed(bytes(body), receive)


def client_of(scope: Scope) -> str:
    """Return the address that a request came from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _too_large(limit: int) -> RequestRefusedError:
    return RequestRefusedError(
        413,
        "BODY_TOO_LARGE",
        f"the body has more than {limit / 1024 / 1024:g} MiB: send large data by reference",
        headers={"connection": "close"},
    )


def _replayed(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again


def _signed(send: Send, request_id: str, *, https: bool) -> Send:
    async def signed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = request_id
            headers["x-content-type-options"] = "nosniff"
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if https:
                headers.setdefault("strict-transport-security", "max-age=31536000")
        await send(message)

    return signed


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else make_request_id()


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Return the host and port of an origin."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
