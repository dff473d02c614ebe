"""Requests inside the process: the same application that a server serves, called directly.

The application and not the `Backend` behind it, so that an embedded engine takes, refuses and
answers exactly what a server does, and there is one implementation of every route.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from onward.bootstrap.embedded_backend import open_embedded_backend, open_for_one, open_onlooker
from onward.bootstrap.settings import EmbeddedSettings
from onward.client.errors import UnreachableError
from onward.client.transports.transport import Headers, Query, Response, Streamed
from onward.distribution import install_command
from onward.errors import InputError

if TYPE_CHECKING:
    from onward.runtime.backend import Backend


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
    ) -> Response:
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
        return Response(status, answered, b"".join(part for part in parts if part is not None))

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


# -- Opening an engine inside the process, behind the same application that a server serves.


@asynccontextmanager
async def open_inside(
    database: Path,
    slots: int,
    env_file: Path | None = None,
    credential_store: Path | None = None,
    key_file: Path | None = None,
) -> AsyncIterator[AsgiTransport]:
    """Start an engine on a file; its unfinished runs go on."""
    settings = EmbeddedSettings(
        database=database,
        slots=slots,
        env_file=env_file,
        credential_store=credential_store,
        key_file=key_file,
    )
    async with open_embedded_backend(settings) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()


def transport_to(backend: Backend) -> AsgiTransport:
    """Return a transport to the API of a backend; InputError when what it needs is missing."""
    try:
        from onward.api.app import make_app  # noqa: PLC0415  (an extra: it may be missing)
        from onward.api.http.identity import Access  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"fastapi", "starlette", "pydantic"}:
            raise
        raise InputError(
            f"an embedded engine needs {package}, which is not installed:"
            f" {install_command('server')}"
        ) from None
    return AsgiTransport(make_app(backend, Access()))


@asynccontextmanager
async def open_file(
    settings: EmbeddedSettings, *, create: bool = False
) -> AsyncIterator[AsgiTransport]:
    """Look at a file, also while another process runs the workflows in it; nothing is run here."""
    async with open_onlooker(settings, create=create) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()


@asynccontextmanager
async def open_run(settings: EmbeddedSettings, run: str | None) -> AsyncIterator[AsgiTransport]:
    """Run only what is started, or one run of a file that nobody serves."""
    async with open_for_one(settings, run) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()
