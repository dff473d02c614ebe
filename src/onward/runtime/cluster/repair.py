"""Rebuilding a run from its history, when the state that moved it is lost or will never move it.

A run's state can be lost as a whole (Redis was wiped), in part (it lost its last second), or what
would have moved it is gone (a message was lost with the broker). The remedy is always the same:
the state is superseded, so that whatever is left of it is void; a new *generation* is begun, in
which every outcome that history knows is on record; and the first tokens are sent again. They
retrace the run through the same decisions, with the same ids, and nothing that history knows about
is executed a second time. What it does not know is, with the same idempotency key as before.
"""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Raw

from onward.errors import MessageError, StorageError, UnavailableError
from onward.kernel.effects import Begin, Forget, Pause, Supersede
from onward.kernel.messages import CompletionMessage, decode_tokens, encode_message, state_id_of
from onward.kernel.outcome import NodeError
from onward.kernel.records import RunRecord, VisitRecord
from onward.kernel.timestamps import to_iso
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.cluster.timers import Timers
from onward.ports.storage.history_store import HistoryStore
from onward.ports.storage.payloads import Payloads
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.storage.signals import SignalLog
from onward.runtime.queues import COMPLETION, EXECUTION, level_of
from onward.runtime.signals.sender import signals_of
from onward.runtime.token.programs import Programs
from onward.runtime.token.restore import restorations

PAGE = 500


class Repairer:
    """Rebuilds runs. Any number may try the same one at once: it is rebuilt once."""

    def __init__(
        self,
        store: HistoryStore,
        payloads: Payloads,
        controls: RunDecisions,
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
        self._controls = controls
        self._signals = signals
        self._programs = programs
        self._coordinator = coordinator
        self._timers = timers
        self._bus = bus
        self._clock = clock
        self._chance = chance

    async def repair(self, execution: RunRecord, why: str) -> str:
        """Rebuild a run that has not ended, and say what was done.

        `ended`: it had ended already, and its completion is published now. `rebuilt`: it goes on.
        `failed`: history cannot rebuild it, and it ends with the cause. `left`: somebody else did.
        """
        run = execution.execution_id
        # All of them: whoever rebuilt it before may have died before it closed the one before.
        for generation in range(execution.generation + 1):
            state = state_id_of(run, generation)
            standing = await self._coordinator.answer(state, Supersede())
            await self._timers.cancel_all(state)
            if standing is not None:
                await self._bus.publish(COMPLETION, encode_message(standing))
                await self._coordinator.answer(state, Forget())
                return "ended"
        now_ms = self._clock.now_ms()
        if not await self._store.regenerate(run, execution.generation, now_ms):
            return "left"
        try:
            await self._rebuild(run, execution.generation + 1)
        except (MessageError, StorageError) as problem:
            if isinstance(problem, UnavailableError):
                raise
            await self._fail(execution, f"{why}, and history cannot rebuild it: {problem}", now_ms)
            return "failed"
        return "rebuilt"

    async def begin(self, run: str) -> None:
        """Begin a run that is noted with a history: it goes on where that ends."""
        await self._rebuild(run, 0)

    async def _rebuild(self, run: str, generation: int) -> None:
        tokens = decode_tokens(await self._store.start_of(run) or b"[]")
        if not tokens:
            raise MessageError("the messages it began with are not known")
        program, _ = await self._programs.of(tokens[0])
        state = state_id_of(run, generation)
        history = await self._store.node_runs(run)
        ended = frozenset(one.token_id for one in history if one.status == "success")
        for start in range(0, len(history), PAGE):
            page = [(one, await self._output(one)) for one in history[start : start + PAGE]]
            restored = restorations(program, tokens[0], page, ended)
            await asyncio.gather(*(self._coordinator.answer(state, one) for one in restored))
        await self._coordinator.answer(state, Begin())
        if (await self._controls.control(run)).paused_ms is not None:
            await self._coordinator.answer(state, Pause(on=True))
        # Read after the state has its number: who sends one meanwhile sees this state, or is seen.
        for token in (*tokens, *await signals_of(self._signals, tokens[0])):
            again = msgspec.structs.replace(
                token, generation=generation, publish_id=self._chance.publish_id(), trouble=0
            )
            await self._bus.publish(EXECUTION, encode_message(again), priority=level_of(again))

    async def _output(self, run: VisitRecord) -> Raw | None:
        if run.output_ref is None:
            return run.output
        return Raw(await self._payloads.get(run.execution_id, run.output_ref))

    async def _fail(self, execution: RunRecord, reason: str, now_ms: int) -> None:
        message = CompletionMessage(
            workflow_id=execution.workflow_id,
            execution_id=execution.execution_id,
            status="failed",
            final_context={},
            completed_at=to_iso(now_ms),
            total_duration_ms=max(0, now_ms - execution.started_ms),
            error=NodeError(reason, "STATE_LOST"),
        )
        await self._bus.publish(COMPLETION, encode_message(message))
