"""Processes of the host, each in a folder and a process group of its own.

`HostCommands` runs one to its end, starts one that runs on by itself, or converses with one line by
line (`ProcessConversation`).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, mkdtemp
from typing import IO

from onward.ports.nodes.commands import (
    Command,
    CommandKind,
    CommandResult,
    Commands,
    Conversation,
    refusal_of,
)
from onward.ports.nodes.outside import OutsideError
from onward.subprocesses import Subprocess, uninterrupted

FAREWELL_S = 2.0
"""How long a process has to end by itself, once its input is closed."""
DEATH_S = 2.0
"""How long to wait for a killed group; one that left it may hold its pipes for ever."""
UNDO_S = 20.0
"""How long the undo of a command may take."""
_CHUNK_BYTES = 65_536
_LAST_BYTES = 2_000
"""How much of the end of its error output is kept, to say why it ended."""
_FOLDER_PREFIX = "onward-run-"
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""What of our own environment a process gets: nothing that could be a secret."""


class HostCommands:
    """Runs processes of the kinds that are allowed."""

    def __init__(self, allowed: Collection[CommandKind]) -> None:
        self._allowed = frozenset(allowed)

    async def run(self, kind: CommandKind, command: Command) -> CommandResult:
        with TemporaryDirectory(prefix=_FOLDER_PREFIX) as folder:
            process = await self._start(kind, command, folder)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_feed(process, command.stdin))
                    stdout = group.create_task(_read(process.stdout, command.max_bytes))
                    stderr = group.create_task(_read(process.stderr, command.max_bytes))
                code = await process.wait()
            except BaseException as problem:
                await uninterrupted(_stop(process, kind, command, folder))
                if isinstance(problem, BaseExceptionGroup):  # of the tasks: too much output
                    raise problem.exceptions[0] from None
                raise
            _kill_group(process)  # what it left behind
            await process.aclose()
        return CommandResult(code=code, stdout=stdout.result(), stderr=stderr.result())

    async def start(self, kind: CommandKind, command: Command) -> None:
        argv = self._argv(kind, command)
        await uninterrupted(asyncio.to_thread(_start_detached, kind, command, argv))

    @asynccontextmanager
    async def converse(self, kind: CommandKind, command: Command) -> AsyncIterator[Conversation]:
        with TemporaryDirectory(prefix=_FOLDER_PREFIX) as folder:
            process = await self._start(kind, command, folder)
            conversation = ProcessConversation(process)

            async def end() -> None:
                await conversation.stop_reading()
                await _stop(process, kind, command, folder)

            try:
                yield conversation
                await conversation.finish()
            finally:
                await uninterrupted(end())

    def _argv(self, kind: CommandKind, command: Command) -> list[str]:
        if kind not in self._allowed:
            raise refusal_of(kind)
        name, *rest = command.argv
        program = shutil.which(name)
        if program is None:
            raise OutsideError(
                f"there is no {name} here: install it, or put its folder into PATH", "RUN_NOT_FOUND"
            )
        return [program, *rest]

    async def _start(self, kind: CommandKind, command: Command, folder: str) -> Subprocess:
        starting = asyncio.ensure_future(self._start_process(kind, command, folder))
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            # It may be at work before we know it: all of it is stopped, and undone.
            await uninterrupted(_stop_starting(starting, kind, command, folder))
            raise
        return starting.result()

    async def _start_process(self, kind: CommandKind, command: Command, folder: str) -> Subprocess:
        argv = self._argv(kind, command)
        await asyncio.to_thread(_write_files, folder, command.files)
        try:
            return await Subprocess.start(
                *argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=folder,
                env=_environment(kind, command.environment),
                start_new_session=True,
                limit=command.max_bytes,
            )
        except (OSError, ValueError) as problem:
            raise _not_executable(command, problem) from None


# -- running to the end ----------------------------------------------------------------------------


async def _feed(process: Subprocess, data: bytes) -> None:
    if process.stdin is None:
        return
    # It need not read its input, nor live so long; uvloop raises a RuntimeError then.
    with suppress(ConnectionError, RuntimeError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, limit: int) -> bytes:
    found = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        found += chunk
        if len(found) > limit:
            raise OutsideError(f"the process wrote more than {limit} bytes", "RUN_OUTPUT")
    return bytes(found)


async def _stop(process: Subprocess, kind: CommandKind, command: Command, folder: str) -> None:
    _kill_group(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(DEATH_S):
            for stream in (process.stdout, process.stderr):
                # It ends when the last of the group is dead: only then is all of it stopped.
                while stream is not None and await stream.read(_CHUNK_BYTES):
                    pass
    await process.aclose()
    if not command.undo:
        return
    with suppress(TimeoutError, OSError):
        undo = await Subprocess.start(
            *command.undo, cwd=folder, env=_environment(kind, {}), start_new_session=True
        )
        try:
            async with asyncio.timeout(UNDO_S):
                await undo.wait()
        finally:
            await undo.aclose()


async def _stop_starting(
    starting: asyncio.Future[Subprocess], kind: CommandKind, command: Command, folder: str
) -> None:
    with suppress(OutsideError):
        await _stop(await starting, kind, command, folder)


def _kill_group(process: Subprocess) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _write_files(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        Path(folder, name).write_bytes(content)


def _environment(kind: CommandKind, given: Mapping[str, str]) -> dict[str, str]:
    own = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    if kind == "container":  # where its engine is
        own |= {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
    return {**own, **given}


def _not_executable(command: Command, problem: Exception) -> OutsideError:
    return OutsideError(f"{command.argv[0]} cannot be executed: {problem}", "RUN_NOT_FOUND")


# -- running on by itself --------------------------------------------------------------------------


def _start_detached(kind: CommandKind, command: Command, argv: list[str]) -> None:
    """Start a process that may outlive this one: no event loop and no pipe of ours belongs to it.

    Its folder is removed when it ends; it stays when we end before that.
    """
    folder = mkdtemp(prefix=_FOLDER_PREFIX)
    try:
        _write_files(folder, command.files)
        with TemporaryFile() as stdin:
            stdin.write(command.stdin)
            stdin.seek(0)
            process = _popen(kind, command, argv, folder, stdin)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def reap() -> None:
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    threading.Thread(target=reap, name="onward-reaper", daemon=True).start()


def _popen(
    kind: CommandKind, command: Command, argv: list[str], folder: str, stdin: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  (what the workflow asks for, and --allow allows)
            argv,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(kind, command.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        raise _not_executable(command, problem) from None


# -- conversing ------------------------------------------------------------------------------------


class ProcessConversation:
    """A conversation with a process. Its error output is read all along."""

    def __init__(self, process: Subprocess) -> None:
        self._process = process
        self._error_output = b""
        self._reading = asyncio.create_task(self._read_errors())

    async def say(self, line: bytes) -> None:
        if self._process.stdin is None:
            return
        with suppress(ConnectionError, RuntimeError):  # uvloop's for a closed pipe
            self._process.stdin.write(line + b"\n")
            await self._process.stdin.drain()

    async def hear(self) -> bytes:
        stream = self._process.stdout
        if stream is None:
            raise RuntimeError("a process without pipes")
        try:
            line = await stream.readline()
        except ValueError:
            raise OutsideError("the process wrote a line that is too long", "RUN_OUTPUT") from None
        if not line:
            code = await self._process.wait()
            await asyncio.wait([self._reading])
            errors = self._error_output.decode("utf-8", "replace").strip()
            message = f"the process ended with code {code}"
            raise OutsideError(f"{message}: {errors}" if errors else message, "RUN_ENDED")
        return line.rstrip(b"\r\n")

    async def finish(self) -> None:
        """Close its input, and wait a moment for its end; what it still writes is dropped."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        stream = self._process.stdout
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                while stream is not None and await stream.read(_CHUNK_BYTES):
                    pass
                await self._process.wait()

    async def stop_reading(self) -> None:
        """Leave its error output to another reader."""
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read_errors(self) -> None:
        stream = self._process.stderr
        while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
            self._error_output = (self._error_output + chunk)[-_LAST_BYTES:]


_conforms: type[Commands] = HostCommands
_conversation_conforms: type[Conversation] = ProcessConversation
