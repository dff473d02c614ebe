"""Stopping nodes whose run has ended: nobody waits for what they come to.

Whoever cancels a run tells it on a channel. A word can get lost, and a run may end in other ways
while a branch of it is still at work, so a worker also asks now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from onward.ports.cluster.run_endings import RunEndings
from onward.ports.nodes.outside import Log
from onward.runtime.tasks import together

LOOK_S = 5.0
AWAY_S = 2.0


class StoppableWork:
    """A node at work in the current task, which may be stopped."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._stopped = False

    def stop(self) -> None:
        """Interrupt the node."""
        if self._task is not None and not self._stopped:
            self._stopped = True
            self._task.cancel()

    def was_stopped(self) -> bool:
        """Say, in the task that was interrupted, whether it was by `stop` and nothing else."""
        return self._stopped and self._task is not None and self._task.uncancel() == 0


class StopListener:
    """Stops what works for runs that have ended."""

    def __init__(self, endings: RunEndings, log: Log) -> None:
        self._endings = endings
        self._log = log
        self._working: dict[str, set[StoppableWork]] = {}

    @contextmanager
    def working(self, run: str) -> Iterator[StoppableWork]:
        """Let a node of a run be stopped as long as the context lasts."""
        work = StoppableWork()
        self._working.setdefault(run, set()).add(work)
        try:
            yield work
        finally:
            works = self._working[run]
            works.discard(work)
            if not works:
                del self._working[run]

    async def run(self) -> None:
        """Listen, and look, until cancelled."""
        await together(self._listen(), self._look())

    async def _listen(self) -> None:
        while True:
            try:
                async for run in self._endings.listen():
                    self._stop(run)
            except Exception as problem:
                self._log.write("warning", f"word of ended runs is not heard: {problem}")
            await asyncio.sleep(AWAY_S)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if not self._working:
                continue
            try:
                for run in await self._endings.ended(tuple(self._working)):
                    self._stop(run)
            except Exception as problem:
                self._log.write("warning", f"it is not known which runs have ended: {problem}")

    def _stop(self, run: str) -> None:
        for work in tuple(self._working.get(run, ())):
            work.stop()
