"""Enforcing the limits of runs: when they may start, and when they must have ended.

Decisions are stored beside the history, so they outlive every process and every state. Any number
of processes may enforce them: each run is started or ended once.
"""

from __future__ import annotations

import asyncio

from onward.ports.nodes.outside import Log
from onward.runtime.backend import Backend

TURN_EVERY_S = 0.5
OVERDUE_PAGE = 100


class RunLimits:
    """Lets parked runs start, and ends runs that take too long."""

    def __init__(self, backend: Backend, log: Log) -> None:
        self._backend = backend
        self._log = log

    async def run(self) -> None:
        """Enforce the limits until cancelled."""
        while True:
            try:
                await self._backend.gate.turn()
                await self.turn()
            except Exception as problem:
                # A service is away, most likely: the next turn may find it back.
                self._log.write("warning", f"the limits of runs could not be enforced: {problem}")
            await asyncio.sleep(TURN_EVERY_S)

    async def turn(self) -> list[str]:
        """End what is overdue now, and return those runs."""
        ended = []
        for execution_id in await self._backend.steering.controls.overdue(
            self._backend.clock.now_ms(), OVERDUE_PAGE
        ):
            run = await self._backend.archive.run(execution_id)
            if run is not None and await self._backend.steering.expire(run):
                ended.append(execution_id)
        return ended
