"""Requests inside the process: the same application that a server serves, called directly.

The application and not the `Backend` behind it, so that an embedded engine takes, refuses and
answers exactly what a server does, and there is one implementation of every route.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

from onward.api.client.failures import UnreachableError
from onward.api.client.transport import Answer, Headers, Query, Streamed

Message = MutableMapping[str, Any]
Application = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]

ROOM = 16
"""Parts of a stream that may wait to be read; then the application waits."""


class AsgiTransport:
    """A `Transport` to an ASGI application."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._streams: set[asyncio.Task[None]] = set()

    async def send(
        self, method: str, path: str, query: Query, headers: Headers, body: bytes | None
    ) -> Answer:
        """Call the application and read the whole answer."""
        call = _Call(body or b"")
        try:
            await self._app(_scope(method, path, query, headers), call.receive, call.send)
        except Exception as problem:
            if not call.started.done():
                raise UnreachableError(f"the engine failed: {problem}", code="INTERNAL") from None
        status, answered = call.started.result()
        parts = []
        while not call.parts.empty():
            parts.append(call.parts.get_nowait())
        return Answer(status, answered, b"".join(one for one in parts if one is not None))

    @asynccontextmanager
    async def stream(self, path: str, query: Query, headers: Headers) -> AsyncIterator[Streamed]:
        """Call the application, and hand on what it says as it says it."""
        call = _Call(b"", ROOM)
        scope = _scope("GET", path, query, headers)
        task = asyncio.create_task(self._answer(scope, call))
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)
        try:
            both: list[asyncio.Future[Any]] = [call.started, task]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not call.started.done():
                raise UnreachableError("the engine does not answer any more", code="INTERNAL")
            yield Streamed(*call.started.result(), call.chunks())
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task

    async def close(self) -> None:
        """End every stream."""
        for task in (streams := tuple(self._streams)):
            task.cancel()
        await asyncio.gather(*streams, return_exceptions=True)

    async def _answer(self, scope: MutableMapping[str, Any], call: _Call) -> None:
        """Let the application answer, and mark the end of what it says."""
        with suppress(Exception):  # it has told the log; whoever reads sees a stream that ended
            await self._app(scope, call.receive, call.send)
        await call.parts.put(None)


class _Call:
    """One request, and what comes of it."""

    def __init__(self, body: bytes, room: int = 0) -> None:
        self._given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self._never = asyncio.Event()
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue(room)
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[tuple[int, dict[str, str]]] = loop.create_future()

    async def receive(self) -> Message:
        if self._given:
            return self._given.pop()
        await self._never.wait()  # whoever asked waits for the answer, or cancels this
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {key.decode().lower(): value.decode() for key, value in message["headers"]}
            self.started.set_result((message["status"], names))
        elif message.get("body"):
            await self.parts.put(message["body"])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the parts of the answer until the application has ended."""
        while (part := await self.parts.get()) is not None:
            yield part


def _scope(method: str, path: str, query: Query, headers: Headers) -> MutableMapping[str, Any]:
    named = {"host": "localhost", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": urlencode(dict(query)).encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 0),
        "server": ("localhost", 80),
    }
