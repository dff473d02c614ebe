"""Stopping nodes whose run has ended: their outcome would have no effect.

The process that cancels a run announces it on a channel. An announcement can get lost, and a run
may end in other ways while a branch of it is still running a node, so a worker also asks at
intervals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from onward.ports.cluster.run_endings import RunEndings
from onward.ports.nodes.outside import Log
from onward.runtime.tasks import repeat, together

ASK_PAUSE_S = 5.0
LISTEN_PAUSE_S = 2.0


class StoppableWork:
    """A node that runs in the current task, and may be stopped."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._stopped = False

    def stop(self) -> None:
        """Interrupt the node."""
        if self._task is not None and not self._stopped:
            self._stopped = True
            self._task.cancel()

    def was_stopped(self) -> bool:
        """Return, in the task that was interrupted, whether only `stop` interrupted it."""
        return self._stopped and self._task is not None and self._task.uncancel() == 0


class StopListener:
    """Stops the nodes of runs that have ended."""

    def __init__(self, endings: RunEndings, log: Log) -> None:
        self._endings = endings
        self._log = log
        self._working: dict[str, set[StoppableWork]] = {}

    @contextmanager
    def working(self, state_id: str) -> Iterator[StoppableWork]:
        """Let a node of a run be stopped as long as the context lasts."""
        work = StoppableWork()
        self._working.setdefault(state_id, set()).add(work)
        try:
            yield work
        finally:
            works = self._working[state_id]
            works.discard(work)
            if not works:
                del self._working[state_id]

    async def run(self) -> None:
        """Listen, and ask, until cancelled."""
        await together(
            repeat(self._listen, self._warn, pause_s=LISTEN_PAUSE_S),
            repeat(self._ask, self._warn, pause_s=ASK_PAUSE_S),
        )

    async def _listen(self) -> None:
        async for state_id in self._endings.listen():
            self._stop(state_id)

    async def _ask(self) -> None:
        if self._working:
            for state_id in await self._endings.ended_among(tuple(self._working)):
                self._stop(state_id)

    def _stop(self, state_id: str) -> None:
        for work in tuple(self._working.get(state_id, ())):
            work.stop()

    def _warn(self, problem: Exception) -> None:
        self._log.write("warning", f"it is not known which runs have ended: {problem}")
