"""The HTTP endpoint of a process: whether it is alive, whether it is ready, and its metrics.

It answers three GETs for a probe or a scraper and lives in the event loop that it reports on: an
answer of /live is the proof that the loop turns. A web framework would bring routing, middleware
and a second server to supervise for that; one line of each request is all that is read here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

_HEAD_BYTES = 16 * 1024
_PATIENCE_S = 5.0
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
"""What Prometheus calls its text."""


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """The response to a request."""

    status: int
    content_type: str
    body: bytes


Page = Callable[[], Awaitable[EndpointResponse]]


class Endpoint:
    """An HTTP/1.1 server for a handful of pages, one request to a connection."""

    def __init__(self, pages: dict[str, Page]) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return where; OSError when that address cannot be had."""
        self._server = await asyncio.start_server(self._accept, host, port, limit=_HEAD_BYTES)
        name = self._server.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def close(self) -> None:
        """Stop listening, and cut off those who are connected."""
        if self._server is not None:
            self._server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                method, answer = await self._answer(head)
                writer.write(_encode(answer, with_body=method != "HEAD"))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away, or sent no request that we understand
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, head: bytes) -> tuple[str, EndpointResponse]:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return "GET", _plain(HTTPStatus.BAD_REQUEST, "this is no HTTP/1.1 request")
        method, path = words[0], words[1].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return method, _plain(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered")
        page = self._pages.get(path)
        if page is None:
            there = ", ".join(self._pages)
            return method, _plain(HTTPStatus.NOT_FOUND, f"there is no {path} here, only {there}")
        try:
            return method, await page()
        except Exception as problem:  # nothing but this response reports it
            text = f"{type(problem).__name__}: {problem}"
            return method, _plain(HTTPStatus.INTERNAL_SERVER_ERROR, text)


def _plain(status: int, text: str) -> EndpointResponse:
    return EndpointResponse(status, "text/plain; charset=utf-8", f"{text}\n".encode())


def _encode(answer: EndpointResponse, *, with_body: bool) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (answer.body if with_body else b"")
