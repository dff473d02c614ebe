"""Run control on a cluster: cancel, expire, pause, resume and adjust runs.

Everything is a decision that is stored first and then applied to the run's state, and any process
may repeat it: one that dies half-way leaves work that the next call completes.
"""

from __future__ import annotations

import asyncio

from onward.kernel.effects import Begin, Pause
from onward.kernel.messages import CompletionMessage, state_id_of
from onward.kernel.records import RunRecord, VisitRecord
from onward.kernel.run_events import pause_event
from onward.ports.clock import Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.cluster.inspection import Inspector
from onward.ports.cluster.run_endings import RunEndings
from onward.ports.cluster.timers import Timers
from onward.ports.storage.history_store import EventLog, HistoryStore
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.storage.start_rules import StartRules
from onward.runtime.cluster.close_run import close_run
from onward.runtime.run_control import RunControl, SplitChange, adjustment_of, concerns
from onward.runtime.token.statuses import cancellation_of, expiry_of

LATE_MS = 2_000
"""Statuses travel apart from completions: so long after the end they count as written."""
CANCEL, EXPIRE = "cancel", "expire"
"""All callers that end a run for the same cause are one to the coordinator: a caller that repeats
what another has not finished gets the same answers."""


class ClusterRunControl:
    """Controls runs."""

    def __init__(
        self,
        bus: Bus,
        coordinator: Coordinator,
        timers: Timers,
        endings: RunEndings,
        inspector: Inspector,
        store: HistoryStore,
        controls: RunDecisions,
        flow: StartRules,
        clock: Clock,
        events: EventLog,
    ) -> None:
        self._events = events
        self._bus = bus
        self._coordinator = coordinator
        self._timers = timers
        self._endings = endings
        self._inspector = inspector
        self._store = store
        self.controls = controls
        self.flow = flow
        self._clock = clock

    async def cancel(self, run: RunRecord, reason: str = "") -> bool:
        now_ms = self._clock.now_ms()
        message = cancellation_of(run, reason, now_ms)
        if run.status == "parked" and await self.flow.drop(message, now_ms):
            return True
        return await self._end(run, CANCEL, message)

    async def expire(self, run: RunRecord) -> bool:
        return await self._end(run, EXPIRE, expiry_of(run, self._clock.now_ms()))

    async def _end(self, run: RunRecord, by: str, message: CompletionMessage) -> bool:
        state_id = state_id_of(run.execution_id, run.generation)
        # Its first message may not have been claimed yet.
        await self._coordinator.answer(state_id, Begin())
        if not await close_run(self._bus, self._coordinator, self._timers, state_id, by, message):
            return False
        await self._endings.announce(state_id)  # last: a worker that asks gets the same answer
        return True

    async def pause(self, run: RunRecord) -> bool:
        before = await self.controls.control(run.execution_id)
        await self.controls.pause(run.execution_id, self._clock.now_ms())
        if not await self._coordinator.answer(await self._latest_state_id(run), Pause(on=True)):
            return False
        if before.paused_ms is None:
            await self._log_pause(run, paused=True)
        return True

    async def resume(self, run: RunRecord) -> bool:
        before = await self.controls.control(run.execution_id)
        await self.controls.pause(run.execution_id, None)
        state_id = await self._latest_state_id(run)
        if not await self._coordinator.answer(state_id, Pause(on=False)):
            return False
        await self._timers.unpark(state_id, self._clock.now_ms())
        if before.paused_ms is not None:
            await self._log_pause(run, paused=False)
        return True

    async def _log_pause(self, run: RunRecord, *, paused: bool) -> None:
        await self._events.tell(run.execution_id, pause_event(self._clock.now_ms(), paused=paused))

    async def adjust(self, run: RunRecord, change: SplitChange) -> int:
        state_id = await self._latest_state_id(run)
        barriers = (await self._inspector.look(state_id)).barriers
        adjustments = [
            adjustment_of(barrier, change) for barrier in barriers if concerns(barrier, change)
        ]
        return sum([await self._coordinator.answer(state_id, adjust) for adjust in adjustments])

    async def start_of(self, execution_id: str) -> bytes:
        return await self._store.start_of(execution_id)

    async def history(self, execution_id: str) -> list[VisitRecord]:
        """Return every visit of a run; of one that has just ended, wait for the last statuses."""
        run = await self._store.execution(execution_id)
        if run is not None and run.ended_ms is not None:
            late_ms = run.ended_ms + LATE_MS - self._clock.now_ms()
            await asyncio.sleep(min(max(0, late_ms), LATE_MS) / 1000)
        return await self._store.node_runs(execution_id)

    async def _latest_state_id(self, run: RunRecord) -> str:
        """Return the id of the state that a run has now.

        It is looked up after the decision is stored: a process that rebuilds the run reads the
        decisions after the new state has its number, so one of the two sees the other.
        """
        latest = await self._store.execution(run.execution_id) or run
        return state_id_of(run.execution_id, latest.generation)


_conforms: type[RunControl] = ClusterRunControl
