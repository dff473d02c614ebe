"""Processes of the host, each in a folder and a process group of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from onward.ports.nodes.commands import (
    Command,
    CommandKind,
    Commands,
    Conversation,
    Finished,
    forbidden,
)
from onward.ports.nodes.outside import OutsideError

# -- Talking with a process of the host, line by line.


FAREWELL_S = 2.0
"""How long a process has to end by itself, once its input is closed."""
_CHUNK = 65_536
_LAST = 2_000
"""How much of the end of its error output is kept, to say why it ended."""


class ProcessConversation:
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


_conversation_conforms: type[Conversation] = ProcessConversation


CHUNK = 65_536
UNDO_S = 20.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What of our own environment a process gets: nothing that could be a secret."""


class HostCommands:
    """Runs processes of the kinds that are allowed."""

    def __init__(self, allowed: Collection[CommandKind]) -> None:
        self._allowed = frozenset(allowed)
        self._left: set[asyncio.Task[None]] = set()

    async def run(self, kind: CommandKind, command: Command) -> Finished:
        """Run a process to its end."""
        with TemporaryDirectory(prefix="onward-run-") as folder:
            process = await self._begin(kind, command, folder)
            reading = [
                asyncio.create_task(_read(stream, command.max_bytes))
                for stream in (process.stdout, process.stderr)
            ]
            try:
                await _feed(process, command.stdin)
                stdout, stderr = await asyncio.gather(*reading)
                code = await process.wait()
            except BaseException:
                for one in reading:
                    one.cancel()
                await asyncio.shield(_stop(process, kind, command, folder))
                raise
            _kill(process)  # what it left behind in its group
        return Finished(code=code, stdout=stdout, stderr=stderr)

    async def start(self, kind: CommandKind, command: Command) -> None:
        """Start a process; what it writes is dropped."""
        folder = TemporaryDirectory(prefix="onward-run-")
        try:
            process = await self._begin(kind, command, folder.name, out=DEVNULL)
        except BaseException:
            folder.cleanup()
            raise

        async def end() -> None:
            await _feed(process, command.stdin)
            await process.wait()
            folder.cleanup()

        task = asyncio.create_task(end())
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    @asynccontextmanager
    async def converse(self, kind: CommandKind, command: Command) -> AsyncIterator[Conversation]:
        """Talk with a process, and let it end."""
        with TemporaryDirectory(prefix="onward-run-") as folder:
            process = await self._begin(kind, command, folder)
            talk = ProcessConversation(process)
            try:
                yield talk
                await talk.leave()
            finally:
                await talk.over()
                await asyncio.shield(_stop(process, kind, command, folder))

    async def _begin(
        self, kind: CommandKind, command: Command, folder: str, out: int = PIPE
    ) -> Process:
        if kind not in self._allowed:
            raise forbidden(kind)
        name, *rest = command.argv
        program = shutil.which(name)
        if program is None:
            raise OutsideError(
                f"there is no {name} here: install it, or put its folder into PATH", "RUN_NOT_FOUND"
            )
        await asyncio.to_thread(_write, folder, command.files)
        try:
            return await asyncio.create_subprocess_exec(
                program,
                *rest,
                stdin=PIPE,
                stdout=out,
                stderr=out,
                cwd=folder,
                env=_environment(kind, command.environment),
                start_new_session=True,
                limit=command.max_bytes,
            )
        except (OSError, ValueError) as problem:
            raise OutsideError(f"{name} cannot be executed: {problem}", "RUN_NOT_FOUND") from None


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        Path(folder, name).write_bytes(content)


def _environment(kind: CommandKind, given: Mapping[str, str]) -> dict[str, str]:
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if kind == "container":  # where its engine is
        own |= {name: one for name, one in os.environ.items() if name.startswith("DOCKER_")}
    return {**own, **given}


async def _feed(process: Process, data: bytes) -> None:
    if process.stdin is None:
        return
    # It need not read what it is given, nor live so long; uvloop tells that by a RuntimeError.
    with suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    found = bytearray()
    while stream is not None and (chunk := await stream.read(CHUNK)):
        found += chunk
        if len(found) > limit:
            raise OutsideError(f"the process wrote more than {limit} bytes", "RUN_OUTPUT")
    return bytes(found)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _stop(process: Process, kind: CommandKind, command: Command, folder: str) -> None:
    _kill(process)
    for stream in (process.stdout, process.stderr):
        while stream is not None and await stream.read(CHUNK):
            pass  # what nobody reads keeps its end from being noticed
    await process.wait()
    if not command.undo:
        return
    with suppress(TimeoutError, OSError):
        undoing = await asyncio.create_subprocess_exec(
            *command.undo,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            cwd=folder,
            env=_environment(kind, {}),
            start_new_session=True,
        )
        async with asyncio.timeout(UNDO_S):
            await undoing.wait()


_conforms: type[Commands] = HostCommands
