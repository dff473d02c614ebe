"""Real servers in the test's own event loop: HTTP by hand, so that it can misbehave, and SMTP."""

from __future__ import annotations

import asyncio
import ssl
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Received], bytes | None]
"""From a request to the raw bytes of its response; None never answers."""


@dataclass
class Site:
    """A running HTTP server: where it is, what it was sent, and over how many connections."""

    url: str
    received: list[Received] = field(default_factory=list)
    connections: int = 0


def reply(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tcp_server(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run `serve` for each connection; yield the port; leave no connection behind."""
    open_connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_connections[task] = writer
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in open_connections.values():
            writer.close()
        await asyncio.gather(*open_connections)
        await server.wait_closed()


@asynccontextmanager
async def http_site(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.connections += 1
        while (request := await _read_request(reader)) is not None:
            site.received.append(request)
            raw = answer(request)
            if raw is None:
                await reader.read()
                return
            writer.write(raw)
            await writer.drain()

    async with tcp_server(serve, tls) as port:
        site.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        yield site


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body)


@dataclass
class Mailbox:
    """A running SMTP server and the envelopes that it took."""

    port: int
    envelopes: list[Envelope] = field(default_factory=list)


class _Handler:
    def __init__(self, box: Mailbox) -> None:
        self._box = box

    async def handle_RCPT(  # noqa: N802  (aiosmtpd's name)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("nobody@"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802  (aiosmtpd's name)
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if b"buy now" in (envelope.content or b""):
            return "554 looks like spam"
        self._box.envelopes.append(envelope)
        return "250 OK"


def _authenticate(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
) -> AuthResult:
    right = isinstance(data, LoginPassword) and data == LoginPassword(b"ann", b"s3cret-word")
    return AuthResult(success=right, handled=False)


@asynccontextmanager
async def smtp_server(
    *, tls: str = "none", context: ssl.SSLContext | None = None, login: bool = False
) -> AsyncIterator[Mailbox]:
    box = Mailbox(0)
    loop = asyncio.get_running_loop()
    sessions: list[SMTP] = []

    def session() -> SMTP:
        with warnings.catch_warnings():
            # It warns of a login without STARTTLS, not seeing that TLS is there from the start.
            warnings.simplefilter("ignore")
            one = SMTP(
                _Handler(box),
                loop=loop,
                hostname="mail.test",
                tls_context=context if tls == "starttls" else None,
                require_starttls=tls == "starttls",
                authenticator=_authenticate if login else None,
                auth_required=login,
                auth_require_tls=tls != "tls",
            )
        sessions.append(one)
        return one

    server = await loop.create_server(
        session, "127.0.0.1", 0, ssl=context if tls == "tls" else None
    )
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        for smtp in sessions:
            if smtp.transport is not None:
                smtp.transport.close()
        await server.wait_closed()


@dataclass(frozen=True)
class Certificates:
    """A private authority: `server` proves 127.0.0.1, `client` trusts the authority."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    authority = trustme.CA()
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return Certificates(server, client)
