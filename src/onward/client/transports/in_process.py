"""Requests inside the process: the operations that a server serves, called directly.

The API and not the `Backend` behind it, so that an embedded engine takes, refuses and answers what
a server does, and there is one implementation of every operation; it needs no web framework.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onward.api.resources import local_api
from onward.bootstrap.embedded import EmbeddedSettings
from onward.bootstrap.embedded_backend import open_embedded_backend, open_for_one, open_onlooker
from onward.client.transports.transport import Headers, Query, Response, Streamed
from onward.runtime.tasks import cancel

if TYPE_CHECKING:
    from onward.runtime.backend import Backend

_LOG = logging.getLogger("onward.client")


class LocalTransport:
    """A `Transport` to the backend in this process."""

    def __init__(self, backend: Backend) -> None:
        self._api = local_api(backend)
        self._closed = asyncio.Event()

    async def send(
        self, method: str, path: str, query: Query, headers: Headers, body: bytes | None
    ) -> Response:
        """Call the operation, and return what it answers."""
        reply = await self._api.answer(method, path, query, headers, body or b"")
        return Response(reply.status, reply.headers, reply.body)

    @asynccontextmanager
    async def stream(self, path: str, query: Query, headers: Headers) -> AsyncIterator[Streamed]:
        """Call the operation, and pass on what it answers chunk by chunk."""
        reply = await self._api.answer("GET", path, query, headers, b"")
        chunks = self._until_closed(reply.chunks or _only(reply.body))
        try:
            yield Streamed(reply.status, reply.headers, chunks)
        finally:
            await chunks.aclose()

    def close(self) -> None:
        """End every stream."""
        self._closed.set()

    async def _until_closed(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        closing = asyncio.ensure_future(self._closed.wait())
        try:
            while True:
                following = asyncio.ensure_future(anext(chunks, None))
                try:
                    await asyncio.wait({following, closing}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await cancel(following)
                if following.cancelled():
                    return
                if (problem := following.exception()) is not None:
                    _LOG.error("a stream of events ended: %s", problem, exc_info=problem)
                    return  # its reader connects again, and meets the problem then
                if (chunk := following.result()) is None:
                    return
                yield chunk
        finally:
            closing.cancel()


async def _only(body: bytes) -> AsyncIterator[bytes]:
    yield body


# -- opening an engine ---------------------------------------------------------------------------


def open_inside(
    database: Path,
    slots: int,
    env_file: Path | None = None,
    credential_store: Path | None = None,
    key_file: Path | None = None,
) -> AbstractAsyncContextManager[LocalTransport]:
    """Start an engine on a file; its unfinished runs continue."""
    settings = EmbeddedSettings(database, slots, env_file, credential_store, key_file)
    return _open(open_embedded_backend(settings))


def open_file(
    settings: EmbeddedSettings, *, create: bool = False
) -> AbstractAsyncContextManager[LocalTransport]:
    """Read a file, also while another process runs the workflows in it; nothing is run here."""
    return _open(open_onlooker(settings, create=create))


def open_run(
    settings: EmbeddedSettings, run_id: str | None
) -> AbstractAsyncContextManager[LocalTransport]:
    """Run only what is started, or one run of a file that no process serves."""
    return _open(open_for_one(settings, run_id))


@asynccontextmanager
async def _open(opening: AbstractAsyncContextManager[Backend]) -> AsyncIterator[LocalTransport]:
    async with opening as backend:
        transport = LocalTransport(backend)
        try:
            yield transport
        finally:
            transport.close()
