"""The heartbeat of a worker: its line in the registry, renewed for as long as it runs."""

from __future__ import annotations

import asyncio

import msgspec

from onward.ports.clock import Clock
from onward.ports.cluster.workers import WorkerInfo, WorkerRegistry
from onward.ports.nodes.outside import Log
from onward.runtime.tasks import repeat

BEAT_S = 10.0
SILENT_MS = 35_000
"""A worker that was last seen longer ago has missed three beats."""


class Heartbeat:
    """Announces one worker."""

    def __init__(
        self, registry: WorkerRegistry, worker: WorkerInfo, clock: Clock, log: Log
    ) -> None:
        self._registry = registry
        self._worker = worker
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Announce the worker until cancelled. A registry that is away is no reason to stop."""
        await repeat(self._beat, self._warn, pause_s=BEAT_S, sleep=self._sleep)

    async def leave(self) -> None:
        """Remove the worker from the registry."""
        try:
            await self._registry.leave(self._worker.name)
        except Exception as problem:
            self._warn(problem)

    async def _beat(self) -> None:
        seen = msgspec.structs.replace(self._worker, seen_ms=self._clock.now_ms())
        await self._registry.announce(seen)

    async def _sleep(self, seconds: float) -> None:
        await self._clock.wait(asyncio.Event(), self._clock.now_ms() + round(seconds * 1000))

    def _warn(self, problem: Exception) -> None:
        self._log.write("warning", f"the registry of workers was not reached: {problem}")
