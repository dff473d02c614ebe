"""Steering runs on a cluster because somebody wants it: ending them, pausing them, going on.

Everything is a decision that is kept first and then told to the run's state, and may be repeated by
anyone: whoever dies half-way leaves what the next call completes.
"""

from __future__ import annotations

import asyncio

from onward.kernel.effects import Begin, Close, Forget, Pause
from onward.kernel.messages import CompletionMessage, encode_message, state_id_of
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
from onward.runtime.queues import COMPLETION
from onward.runtime.run_control import SplitChange, adjustment, meant
from onward.runtime.token.statuses import cancelled, expired

LATE_MS = 2_000
"""Statuses travel apart from completions: so long after the end they are taken to be written."""
CANCEL, EXPIRE = "cancel", "expire"
"""All who end a run for the same cause are one: who repeats what another has not finished gets its
answers."""


class ClusterRunControl:
    """Steers runs."""

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
        """End a run as cancelled. False: it has ended already."""
        now_ms = self._clock.now_ms()
        message = cancelled(run.workflow_id, run.execution_id, run.started_ms, now_ms, reason)
        if run.status == "parked" and await self.flow.drop(message, now_ms):
            return True
        return await self._end(run, CANCEL, message)

    async def expire(self, run: RunRecord) -> bool:
        """End a run that took too long as failed. False: it has ended already."""
        now_ms = self._clock.now_ms()
        message = expired(run.workflow_id, run.execution_id, run.started_ms, now_ms)
        return await self._end(run, EXPIRE, message)

    async def _end(self, run: RunRecord, by: str, message: CompletionMessage) -> bool:
        """Close the run's state: one compare-and-set, after which every token of the run is dropped
        when it is claimed and whatever a running node comes to has no effect.
        """
        state = state_id_of(run.execution_id, run.generation)
        ask = self._coordinator.answer
        await ask(state, Begin())  # its first message may not have been claimed yet
        standing = await ask(state, Close(by=by, message=message))
        if standing is None:
            return False
        await self._bus.publish(COMPLETION, encode_message(standing))
        await self._timers.cancel_all(state)
        await ask(state, Forget())
        await self._endings.tell(state)  # last: whoever hears it and asks is told the same
        return True

    async def pause(self, run: RunRecord) -> bool:
        """Let no node of a run begin any more. False: it has ended."""
        before = await self.controls.control(run.execution_id)
        await self.controls.pause(run.execution_id, self._clock.now_ms())
        if not await self._coordinator.answer(await self._state(run), Pause(on=True)):
            return False
        if before.paused_ms is None:
            await self._tell(run, paused=True)
        return True

    async def resume(self, run: RunRecord) -> bool:
        """Let a run go on: what was parked is sent. False: it has ended."""
        before = await self.controls.control(run.execution_id)
        await self.controls.pause(run.execution_id, None)
        state = await self._state(run)
        if not await self._coordinator.answer(state, Pause(on=False)):
            return False
        await self._timers.unpark(state, self._clock.now_ms())
        if before.paused_ms is not None:
            await self._tell(run, paused=False)
        return True

    async def _tell(self, run: RunRecord, *, paused: bool) -> None:
        await self._events.tell(run.execution_id, pause_event(self._clock.now_ms(), paused=paused))

    async def adjust(self, run: RunRecord, change: SplitChange) -> int:
        """Change the runs of a split that still wait for items, and say how many there are."""
        state = await self._state(run)
        found = (await self._inspector.look(state)).barriers
        asked = [adjustment(one, change) for one in found if meant(one, change)]
        return sum([await self._coordinator.answer(state, one) for one in asked])

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with."""
        return await self._store.start_of(execution_id)

    async def history(self, execution_id: str) -> list[VisitRecord]:
        """Return what every visit of a run came to.

        Of one that has just ended, the last news may still be on its way: it is waited for.
        """
        run = await self._store.execution(execution_id)
        if run is not None and run.ended_ms is not None:
            late_ms = run.ended_ms + LATE_MS - self._clock.now_ms()
            await asyncio.sleep(min(max(0, late_ms), LATE_MS) / 1000)
        return await self._store.node_runs(execution_id)

    async def _state(self, run: RunRecord) -> str:
        """Return the state that a run has now.

        It is looked up after the decision is kept: whoever rebuilds the run looks for decisions
        after the new state has its number, so one of the two sees the other.
        """
        latest = await self._store.execution(run.execution_id) or run
        return state_id_of(run.execution_id, latest.generation)
