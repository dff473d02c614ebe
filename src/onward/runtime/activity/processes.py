"""Running nodes in processes of their own: they burn CPU, crash and are killed without harm to us.

A process is started when one is first needed, fresh (nothing of ours is copied into it), and serves
one node after another. As many run at once as the machine has processors; more nodes wait.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from onward.kernel.outcome import Failed, NodeError
from onward.ports.nodes.outside import Log
from onward.runtime.activity.node_process import LENGTH, Job, framed

COMMAND = (sys.executable, "-m", "onward.runtime.activity.node_process")


class Processes:
    """The processes in which one engine or worker runs nodes."""

    def __init__(self, most: int | None = None) -> None:
        self._free = asyncio.Semaphore(most or os.cpu_count() or 1)
        self._idle: list[NodeProcess] = []

    @asynccontextmanager
    async def one(self) -> AsyncIterator[NodeProcess]:
        """Wait for a process that is free; one that is left amid a job is killed."""
        async with self._free:
            process = self._idle.pop() if self._idle else await NodeProcess.start()
            try:
                yield process
            finally:
                if process.fit:
                    self._idle.append(process)
                else:
                    await process.kill()

    async def aclose(self) -> None:
        """End those that wait for work."""
        idle, self._idle = self._idle, []
        for process in idle:
            await process.kill()


class NodeProcess:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.fit = True
        """Whether it can take another node."""

    @classmethod
    async def start(cls) -> NodeProcess:
        """Start one that finds the modules that we find."""
        places = os.pathsep.join(place or os.curdir for place in sys.path)
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": places},
        )
        return cls(process)

    async def run(self, job: Job, log: Log) -> Any:
        """Return what the node returned, or the failure that says how its process ended."""
        given, said = self._process.stdin, self._process.stdout
        if given is None or said is None:
            raise RuntimeError("a process without pipes")
        self.fit = False
        try:
            frame = framed(job)
        except Exception as problem:
            self.fit = True
            text = f"the node cannot be sent to a process: {type(problem).__name__}: {problem}"
            return Failed(NodeError(text, "NODE_CRASHED"))
        try:
            given.write(frame)
            await given.drain()
            while True:
                (size,) = LENGTH.unpack(await said.readexactly(LENGTH.size))
                # What it says is as trusted as the node itself, which runs as we do.
                match pickle.loads(await said.readexactly(size)):  # noqa: S301
                    case ("log", level, message, fields):
                        log.write(level, message, **fields)
                    case (_, outcome):
                        break
        except (asyncio.IncompleteReadError, ConnectionError):
            return Failed(NodeError(_ending(await self._process.wait()), "NODE_PROCESS_DIED"))
        self.fit = True
        return outcome

    async def kill(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.communicate()


def _ending(code: int) -> str:
    if code < 0:
        return f"the node's process was killed by signal {-code}; was the machine out of memory?"
    return f"the node's process ended with code {code} in the middle of the node"
