"""Retention: runs that ended long ago are deleted, a few at a time."""

from __future__ import annotations

import asyncio
from typing import Protocol

from onward.errors import StorageError
from onward.ports.clock import Clock
from onward.ports.nodes.outside import Log

LONGEST_PAUSE_S = 3600.0
SHORTEST_PAUSE_S = 1.0


class Prunes(Protocol):
    """A store of runs that can delete old ones."""

    async def prune(self, before_ms: int) -> int:
        """Delete runs that ended before a moment, and return how many."""
        ...


class Retention:
    """Deletes runs that ended longer ago than history is kept. Any number of them may run."""

    def __init__(self, store: Prunes, clock: Clock, log: Log, keep_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._keep_ms = keep_ms

    async def run(self) -> None:
        """Delete until cancelled.

        At least every hour, and often enough that nothing is kept a tenth longer than it should be.
        """
        pause_s = min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, self._keep_ms / 10_000))
        while True:
            await self.turn()
            await asyncio.sleep(pause_s)

    async def turn(self) -> int:
        """Delete what is too old now, and return how many runs; 0 while the store is away."""
        try:
            dropped = await self._store.prune(self._clock.now_ms() - self._keep_ms)
        except StorageError as problem:
            self._log.write("warning", f"old runs could not be dropped: {problem}")
            return 0
        if dropped:
            self._log.write("info", f"dropped {dropped} runs that ended too long ago to be kept")
        return dropped
