"""Processes of our own that answer frames: started when first needed, and used again.

Each is fresh: nothing of this process is copied into it but the places where modules are found.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from onward.runtime.activity.frames import LENGTH, frame
from onward.subprocesses import Subprocess


class ProcessPool:
    """At most so many processes that run one module."""

    def __init__(self, module: str, most: int) -> None:
        self.command = (sys.executable, "-m", module)
        self._free = asyncio.Semaphore(most)
        self._closed = False
        self.idle: list[PooledProcess] = []
        """Those that wait for work."""

    @asynccontextmanager
    async def process(self) -> AsyncIterator[PooledProcess]:
        """Wait for a free process; one that is left in the middle of an answer is killed."""
        async with self._free:
            process = await self._take()
            try:
                yield process
            finally:
                if process.is_free and not self._closed:
                    self.idle.append(process)
                else:
                    await process.child.aclose()

    async def aclose(self) -> None:
        """End those that wait for work now, and the others when their work is over."""
        self._closed = True
        while self.idle:
            await self.idle.pop().child.aclose()

    async def _take(self) -> PooledProcess:
        while self.idle:
            process = self.idle.pop()
            if process.child.returncode is None:
                return process
            await process.child.aclose()  # it was killed while it waited
        places = os.pathsep.join(place or os.curdir for place in sys.path)
        child = await Subprocess.start(
            *self.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=None,
            env={**os.environ, "PYTHONPATH": places},
        )
        return PooledProcess(child)


class PooledProcess:
    """One process. Whoever has read its whole answer says that it is free again."""

    def __init__(self, child: Subprocess) -> None:
        self.child = child
        self.is_free = True

    async def send(self, body: bytes) -> None:
        """Send a frame. That the process is dead shows when its answer is read."""
        self.is_free = False
        if self.child.stdin is None:
            raise RuntimeError("a process without pipes")
        with suppress(ConnectionError, RuntimeError):  # uvloop's for a closed pipe
            self.child.stdin.write(frame(body))
            await self.child.stdin.drain()

    async def receive(self) -> bytes:
        """Return the next frame; IncompleteReadError when the process has died."""
        if self.child.stdout is None:
            raise RuntimeError("a process without pipes")
        (size,) = LENGTH.unpack(await self.child.stdout.readexactly(LENGTH.size))
        return await self.child.stdout.readexactly(size)
