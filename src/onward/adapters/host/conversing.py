"""Talking with a process of the host, line by line."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress

from onward.ports.commands import Conversation
from onward.ports.outside import OutsideError

FAREWELL_S = 2.0
"""How long a process has to end by itself, once its input is closed."""
_CHUNK = 65_536
_LAST = 2_000
"""How much of the end of its error output is kept, to say why it ended."""


class Talk:
    """One process that is talked with. What it writes to its error output is read all along."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._said = b""
        self._errors = asyncio.create_task(self._listen())

    async def say(self, line: bytes) -> None:
        """Write a line."""
        if self._process.stdin is None:
            return
        with suppress(BrokenPipeError, ConnectionResetError, RuntimeError):  # that is uvloop's
            self._process.stdin.write(line + b"\n")
            await self._process.stdin.drain()

    async def hear(self) -> bytes:
        """Return the next line."""
        stream = self._process.stdout
        if stream is None:
            raise RuntimeError("a process without pipes")
        try:
            line = await stream.readline()
        except ValueError:
            raise OutsideError("the process wrote a line that is too long", "RUN_OUTPUT") from None
        if not line:
            code = await self._process.wait()
            await asyncio.wait([self._errors])
            said = self._said.decode("utf-8", "replace").strip()
            message = f"the process ended with code {code}"
            raise OutsideError(f"{message}: {said}" if said else message, "RUN_ENDED")
        return line.rstrip(b"\r\n")

    async def leave(self) -> None:
        """Close its input, and wait a moment for its end; what it still says is dropped."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        stream = self._process.stdout
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                while stream is not None and await stream.read(_CHUNK):
                    pass
                await self._process.wait()

    async def over(self) -> None:
        """Stop listening, when the process is gone."""
        self._errors.cancel()
        await asyncio.wait([self._errors])

    async def _listen(self) -> None:
        stream = self._process.stderr
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            self._said = (self._said + chunk)[-_LAST:]


_conforms: type[Conversation] = Talk
