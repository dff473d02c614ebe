"""Requests over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from onward import __version__
from onward.client.errors import UnreachableError
from onward.client.transports.transport import Headers, Query, Response, Streamed
from onward.errors import InputError

CONNECT_S = 10.0
SILENCE_S = 60.0
"""A stream that is silent for so long is dead: it has a heartbeat every 15 seconds."""


class HttpTransport:
    """A `Transport` to a server elsewhere."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url

    async def send(
        self, method: str, path: str, query: Query, headers: Headers, body: bytes | None
    ) -> Response:
        """Send a request and read the whole answer."""
        try:
            answer = await self._client.request(
                method, path, params=dict(query), headers=dict(headers), content=body
            )
        except httpx2.HTTPError as problem:
            raise self._unreachable(problem) from None
        return Response(answer.status_code, dict(answer.headers), answer.content)

    @asynccontextmanager
    async def stream(self, path: str, query: Query, headers: Headers) -> AsyncIterator[Streamed]:
        """GET a stream."""
        silence = httpx2.Timeout(CONNECT_S, read=SILENCE_S)
        try:
            async with self._client.stream(
                "GET", path, params=dict(query), headers=dict(headers), timeout=silence
            ) as answer:
                yield Streamed(answer.status_code, dict(answer.headers), answer.aiter_bytes())
        except httpx2.HTTPError as problem:
            raise self._unreachable(problem) from None

    def _unreachable(self, problem: httpx2.HTTPError) -> UnreachableError:
        why = str(problem) or type(problem).__name__
        return UnreachableError(f"{self._url} does not answer: {why}", code="UNREACHABLE")


@asynccontextmanager
async def open_network(
    url: str, token: str | None, timeout_s: float
) -> AsyncIterator[HttpTransport]:
    """Open a transport to the server at `url`; InputError when that is no address of one."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        parsed = httpx2.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InputError(f"{url!r} is no address of a server: write http://HOST:PORT")
    headers = {"user-agent": f"onward/{__version__}", "accept": "application/json"}
    if token:
        try:
            token.encode("ascii")
        except UnicodeEncodeError:
            raise InputError("the token has characters that no token has") from None
        headers["authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient(
        base_url=parsed,
        headers=headers,
        timeout=httpx2.Timeout(timeout_s, connect=CONNECT_S),
        # Each stream holds a connection: there must be one left for what is asked meanwhile.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
    ) as client:
        yield HttpTransport(client, url)
