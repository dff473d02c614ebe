"""How requests reach the API: one small port, over a network or inside the process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

PREFIX = "/api/v1"

Query = Mapping[str, str]
Headers = Mapping[str, str]


class Response(NamedTuple):
    """An answer, read whole. The names of headers are in small letters."""

    status: int
    headers: Headers
    body: bytes


class Streamed(NamedTuple):
    """An answer whose body comes bit by bit."""

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]


class Transport(Protocol):
    """Carries requests to one server. UnreachableError is all it raises for what goes wrong."""

    async def send(
        self, method: str, path: str, query: Query, headers: Headers, body: bytes | None
    ) -> Response:
        """Send a request and read the whole answer."""
        ...

    def stream(
        self, path: str, query: Query, headers: Headers
    ) -> AbstractAsyncContextManager[Streamed]:
        """GET a stream; leaving the context ends it."""
        ...
