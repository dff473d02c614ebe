"""Child processes whose pipes and handles are closed on every path.

`asyncio.create_subprocess_exec` leaves that to chance: since Python 3.13 `wait` returns before the
pipes are closed, a start that is cancelled loses pipes that are connected later, and a grandchild
that inherited a pipe keeps it open. What is left over is found by the garbage collector, when the
loop is long closed. `Subprocess` starts and ends a process as a whole: `aclose` returns when the
event loop has let go of the last handle, and neither it nor `start` can be interrupted half-way.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, SubprocessStreamProtocol
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Self, TypeVar, cast

LIMIT_BYTES = 64 * 1024
"""How long a line of its output may be, unless said otherwise."""

T = TypeVar("T")


class _Protocol(SubprocessStreamProtocol):
    """Also says when the transport is closed: the process has ended, and so has every pipe."""

    def __init__(self, limit: int) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(limit, loop)
        self.ended: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()

    def process_exited(self) -> None:
        super().process_exited()
        if not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.closed.done():
            self.closed.set_result(None)


class Subprocess:
    """A process that was started here. Whoever starts it calls `aclose`."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self.stdin = protocol.stdin
        self.stdout = protocol.stdout
        self.stderr = protocol.stderr
        self.pid: int = transport.get_pid()

    @classmethod
    async def start(
        cls,
        *argv: str,
        stdin: int = DEVNULL,
        stdout: int = DEVNULL,
        stderr: int | None = DEVNULL,
        limit: int = LIMIT_BYTES,
        **options: Any,
    ) -> Self:
        """Start a process; OSError or ValueError when there can be none."""
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Protocol(limit),
                *argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                **options,
            )
        )
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            # It is started all the same: its pipes are connected by tasks that we cannot cancel.
            await uninterrupted(_discard(starting))
            raise
        return cls(*starting.result())

    @property
    def returncode(self) -> int | None:
        """How it ended; None as long as it runs. A negative code is the signal that ended it."""
        return self._transport.get_returncode()

    async def wait(self) -> int:
        """Return how it ended, once it has. Its pipes are open until `aclose`."""
        await asyncio.shield(self._protocol.ended)
        return self.returncode or 0

    async def aclose(self) -> int:
        """Kill it unless it has ended, close everything, and return how it ended.

        What is left in its pipes is dropped. May be repeated, and is not interrupted by a
        cancellation, which is raised afterwards.
        """
        return await uninterrupted(self._close())

    async def _close(self) -> int:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                self._transport.kill()
        await self.wait()
        code = self.returncode or 0
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None and pipe.get_write_buffer_size():
            pipe.abort()  # a plain close would wait for a grandchild to read what is buffered
        self._transport.close()
        await asyncio.shield(self._protocol.closed)
        return code


async def uninterrupted(work: Awaitable[T]) -> T:
    """Await `work` to its end; a cancellation of the caller is raised only then."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            cancelled = problem
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # retrieved: the cancellation is what the caller hears of
    raise cancelled


async def _discard(
    starting: asyncio.Future[tuple[asyncio.SubprocessTransport, _Protocol]],
) -> None:
    with suppress(OSError, ValueError):
        await Subprocess(*await starting)._close()
