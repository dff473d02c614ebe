"""Asking the API: requests, answers, pages, and what a refusal becomes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self, TypeVar

import msgspec

from onward.client.errors import UnreachableError, refusal
from onward.client.transports.transport import PREFIX, Response, Transport
from onward.client.values import Listing

T = TypeVar("T")
PAGE_ITEMS = 200
Opener = Callable[[], AbstractAsyncContextManager[Transport]]


class ApiRequests:
    """Requests to one API, from `open` until `close`."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._stack = AsyncExitStack()
        self._transport: Transport | None = None

    async def open(self) -> Self:
        """Connect, or start the engine."""
        self._transport = await self._stack.enter_async_context(self._opener())
        return self

    async def close(self) -> None:
        """Disconnect, or stop the engine at a commit."""
        self._transport = None
        await self._stack.aclose()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def transport(self) -> Transport:
        """Return what carries requests; UnreachableError before `open` and after `close`."""
        if self._transport is None:
            raise UnreachableError("the engine is not open: use it in a `with` statement")
        return self._transport

    # -- any route ------------------------------------------------------------------------------

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Ask any route below /api/v1 and return the value it answers with."""
        data = (await self.ask(method, path, query=query, body=body, headers=headers)).body
        return msgspec.json.decode(data) if data else None

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Ask any route and return its answer; ApiError when it refuses."""
        sent = dict(headers or {})
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            sent.setdefault("content-type", "application/json")
        answer = await self.transport.send(method, PREFIX + path, words(query or {}), sent, data)
        if answer.status >= 400:
            raise refusal(answer.status, answer.body)
        return answer

    async def get(self, kind: type[T], path: str, **query: Any) -> T:
        """GET a route and read what it answers."""
        return msgspec.json.decode((await self.ask("GET", path, query=query)).body, type=kind)

    async def post(self, kind: type[T], path: str, body: Any = None, **headers: str) -> T:
        """POST to a route and read what it answers."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.ask("POST", path, body={} if body is None else body, headers=named)
        return msgspec.json.decode(answer.body, type=kind)

    async def pages(self, kind: type[T], path: str, /, **query: Any) -> AsyncGenerator[T, None]:
        """Iterate over a list, page after page as they are needed."""
        cursor: str | None = None
        while True:
            asked = {**query, "cursor": cursor}
            data = (await self.ask("GET", path, query=asked)).body
            page = msgspec.json.decode(data, type=Listing[kind])  # type: ignore[valid-type]  # it is a class, only not known before
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return


def words(query: Mapping[str, Any]) -> dict[str, str]:
    """Return a query as it is sent: without what was not given."""
    return {name: str(value) for name, value in query.items() if value not in (None, "")}
