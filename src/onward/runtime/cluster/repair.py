"""Rebuilding a run from its history, when the state that moved it is lost or will never move it.

A run's state can be lost as a whole (Redis was wiped), in part (it lost its last second), or the
message that would have moved it is gone (lost with the broker). The remedy is always the same:
the state is superseded, so that whatever is left of it is void; a new *generation* is started, in
which every outcome that history knows is on record; and the first tokens are sent again. They
retrace the run through the same decisions, with the same ids, and nothing that history knows about
is executed a second time. What it does not know is, with the same idempotency key as before.
"""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Raw

from onward.errors import MessageError, StorageError, UnavailableError
from onward.kernel.effects import Begin, Pause, Supersede
from onward.kernel.messages import decode_tokens, encode_message, state_id_of
from onward.kernel.records import RunRecord, VisitRecord
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.cluster.timers import Timers
from onward.ports.storage.history_store import HistoryStore
from onward.ports.storage.payloads import Payloads
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.storage.signals import SignalLog
from onward.runtime.cluster.close_run import finish_closed_run
from onward.runtime.queues import COMPLETION, EXECUTION, level_of
from onward.runtime.signals.sender import signals_of
from onward.runtime.token.programs import Programs
from onward.runtime.token.restore import restorations_of
from onward.runtime.token.statuses import ended_by_engine

VISITS_PAGE = 500


class Repairer:
    """Rebuilds runs. Any number may try the same one at once: it is rebuilt once."""

    def __init__(
        self,
        store: HistoryStore,
        payloads: Payloads,
        decisions: RunDecisions,
        signals: SignalLog,
        programs: Programs,
        coordinator: Coordinator,
        timers: Timers,
        bus: Bus,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._store = store
        self._payloads = payloads
        self._decisions = decisions
        self._signals = signals
        self._programs = programs
        self._coordinator = coordinator
        self._timers = timers
        self._bus = bus
        self._clock = clock
        self._chance = chance

    async def repair(self, run: RunRecord, why: str) -> str:
        """Rebuild a run that has not ended, and return what was done.

        `ended`: it had ended already, and its completion is published now. `rebuilt`: it is running
        again. `failed`: history cannot rebuild it, and it ends with the cause. `left`: another
        process rebuilt it.
        """
        # All of them: an earlier repairer may have died before it closed the one before.
        for generation in range(run.generation + 1):
            state_id = state_id_of(run.execution_id, generation)
            standing = await self._coordinator.answer(state_id, Supersede())
            if standing is not None:
                await finish_closed_run(
                    self._bus, self._coordinator, self._timers, state_id, standing
                )
                return "ended"
            await self._timers.cancel_all(state_id)
        now_ms = self._clock.now_ms()
        if not await self._store.regenerate(run.execution_id, run.generation, now_ms):
            return "left"
        try:
            await self._rebuild(run.execution_id, run.generation + 1)
        except (MessageError, StorageError) as problem:
            if isinstance(problem, UnavailableError):
                raise
            text = f"{why}, and history cannot rebuild it: {problem}"
            message = ended_by_engine(run, "failed", "STATE_LOST", text, now_ms)
            await self._bus.publish(COMPLETION, encode_message(message))
            return "failed"
        return "rebuilt"

    async def begin(self, execution_id: str) -> None:
        """Start a run that is noted with a history: it continues where that ends."""
        await self._rebuild(execution_id, 0)

    async def _rebuild(self, execution_id: str, generation: int) -> None:
        tokens = decode_tokens(await self._store.start_of(execution_id) or b"[]")
        if not tokens:
            raise MessageError("the messages it started with are not known")
        program, _ = await self._programs.of(tokens[0])
        state_id = state_id_of(execution_id, generation)
        history = await self._store.node_runs(execution_id)
        ended = frozenset(visit.token_id for visit in history if visit.status == "success")
        ask = self._coordinator.answer
        for start in range(0, len(history), VISITS_PAGE):
            visits = history[start : start + VISITS_PAGE]
            page = [(visit, await self._output(visit)) for visit in visits]
            restorations = restorations_of(program, tokens[0], page, ended)
            await asyncio.gather(*(ask(state_id, restoration) for restoration in restorations))
        await ask(state_id, Begin())
        if (await self._decisions.control(execution_id)).paused_ms is not None:
            await ask(state_id, Pause(on=True))
        # Read after the state has its number: a process that sends a signal meanwhile either sees
        # this state, or its signal is read here.
        for token in (*tokens, *await signals_of(self._signals, tokens[0])):
            again = msgspec.structs.replace(
                token, generation=generation, publish_id=self._chance.publish_id(), trouble=0
            )
            await self._bus.publish(EXECUTION, encode_message(again), priority=level_of(again))

    async def _output(self, visit: VisitRecord) -> Raw | None:
        if visit.output_ref is None:
            return visit.output
        return Raw(await self._payloads.get(visit.execution_id, visit.output_ref))
