"""Running nodes in processes of their own: they burn CPU, crash and are killed without harm to us.

As many run at once as the machine has processors; more nodes wait.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from onward.kernel.outcome import Failed, NodeError
from onward.ports.nodes.outside import Log
from onward.runtime.activity.node_process import Job
from onward.runtime.activity.process_pool import PooledProcess, ProcessPool

MODULE = "onward.runtime.activity.node_process"


class NodeProcesses:
    """The processes in which one engine or worker runs nodes."""

    def __init__(self) -> None:
        self._pool = ProcessPool(MODULE, os.cpu_count() or 1)

    async def aclose(self) -> None:
        """End the processes."""
        await self._pool.aclose()

    @asynccontextmanager
    async def process(self) -> AsyncIterator[NodeProcess]:
        """Wait for a free process; one that is left in the middle of a node is killed."""
        async with self._pool.process() as process:
            yield NodeProcess(process)


class NodeProcess:
    """A process that is free to run a node."""

    def __init__(self, process: PooledProcess) -> None:
        self._process = process

    async def run(self, job: Job, log: Log) -> Any:
        """Return what the node returned, or the failure that says how its process ended."""
        try:
            body = pickle.dumps(job)
        except Exception as problem:
            text = f"the node cannot be sent to a process: {type(problem).__name__}: {problem}"
            return Failed(NodeError(text, "NODE_CRASHED"))
        try:
            await self._process.send(body)
            while True:
                # What it sends is as trusted as the node itself, which runs as we do.
                match pickle.loads(await self._process.receive()):  # noqa: S301
                    case ("log", level, message, fields):
                        log.write(level, message, **fields)
                    case (_, outcome):
                        break
        except asyncio.IncompleteReadError:
            return Failed(NodeError(_ending(await self._process.child.wait()), "NODE_PROCESS_DIED"))
        self._process.is_free = True
        return outcome


def _ending(code: int) -> str:
    if code < 0:
        return f"the node's process was killed by signal {-code}; was the machine out of memory?"
    return f"the node's process ended with code {code} in the middle of the node"
