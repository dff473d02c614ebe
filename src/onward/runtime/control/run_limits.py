"""Looking after what was decided about runs: when they may start, and when they must have ended.

Decisions are kept beside the history, so they outlive every process and every state. Any number of
wardens may look: whatever they do is done once.
"""

from __future__ import annotations

import asyncio

from onward.ports.clock import Clock
from onward.ports.nodes.outside import Log
from onward.ports.storage.run_queries import RunQueries
from onward.runtime.run_control import RunControl
from onward.runtime.start_gate import StartGate

EVERY_S = 0.5
PAGE = 100


class RunLimits:
    """Lets parked runs start, and ends runs that take too long."""

    def __init__(
        self, steering: RunControl, flow: StartGate, archive: RunQueries, clock: Clock, log: Log
    ) -> None:
        self._steering = steering
        self._flow = flow
        self._archive = archive
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            try:
                await self._flow.turn()
                await self.turn()
            except Exception as problem:
                # Whatever is away now (a service, most likely), the next turn may find it back.
                self._log.write("warning", f"the limits of runs could not be looked at: {problem}")
            await asyncio.sleep(EVERY_S)

    async def turn(self) -> list[str]:
        """End what is overdue now, and return those runs."""
        ended = []
        for name in await self._steering.controls.overdue(self._clock.now_ms(), PAGE):
            run = await self._archive.run(name)
            if run is not None and await self._steering.expire(run):
                ended.append(name)
        return ended
