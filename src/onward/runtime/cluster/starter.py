"""Starting runs: each is noted and has a state before its first message is published.

`RunAdmission` notes a run and makes its state; a worker does so too, for a run that a plain message
starts. `Starter` does everything that comes before and after that for a caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import InputError
from onward.kernel.context import Payload, Ref
from onward.kernel.effects import Begin, Supersede
from onward.kernel.json import encode
from onward.kernel.messages import Token, encode_message, encode_tokens
from onward.kernel.program import Program
from onward.kernel.records import Definition, VisitRecord
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus, BusError
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.storage.history_store import HistoryStore
from onward.ports.storage.payloads import Payloads
from onward.ports.storage.run_decisions import RunDecisions
from onward.runtime.cluster.repair import Repairer
from onward.runtime.queues import EXECUTION, level_of
from onward.runtime.signals.sender import payload_of, token_of
from onward.runtime.token.start import (
    DEFAULT_START,
    StartOptions,
    copy_visits,
    decision_of,
    first_tokens_of,
)
from onward.runtime.token.statuses import ended_by_engine, run_of


class RunAdmission:
    """Lets runs start, each once."""

    def __init__(self, store: HistoryStore, coordinator: Coordinator, clock: Clock) -> None:
        self._store = store
        self._coordinator = coordinator
        self._clock = clock

    async def admit(self, *tokens: Token, history: Sequence[VisitRecord] = ()) -> bool:
        """Note the run that these tokens start, then make its state. False: it is known already.

        A run that takes over a history has it from the same moment, and its state is not made here:
        it is rebuilt from that history.

        A process that dies in between leaves a run that is noted and has no state: it is started
        again from its tokens, like any run whose state was lost. So no other process makes a state
        for it here.
        """
        first = tokens[0]
        run = run_of(first, self._clock.now_ms())
        is_new = await self._store.begin(run, encode_tokens(tokens), history)
        if is_new and not history:
            await self._coordinator.answer(first.state_id, Begin())
        return is_new

    async def withdraw(self, first: Token) -> bool:
        """Close the state of a run that could not be started. False: it has ended already."""
        return await self._coordinator.answer(first.state_id, Supersede()) is None


class Starter:
    """Starts runs: the definition, the run and its first tokens, in that order."""

    def __init__(
        self,
        bus: Bus,
        store: HistoryStore,
        payloads: Payloads,
        admission: RunAdmission,
        repairer: Repairer,
        decisions: RunDecisions,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._bus = bus
        self._store = store
        self._payloads = payloads
        self._admission = admission
        self._repairer = repairer
        self._decisions = decisions
        self._clock = clock
        self._chance = chance

    async def start(
        self,
        program: Program,
        source: bytes,
        given: Any,
        execution_id: str | None = None,
        how: StartOptions = DEFAULT_START,
    ) -> str:
        """Start a run and return its id; from then on it will end, whatever fails."""
        now_ms = self._clock.now_ms()
        execution_id = execution_id or self._chance.execution_id(now_ms)
        await self._store.save_definition(Definition(program.ref, program.workflow_id, source))
        tokens, payloads = first_tokens_of(program, execution_id, encode(given), now_ms, how)
        # Before the run is noted: a noted run can be started again, and then refers to them.
        for payload in payloads:
            await self._payloads.put(execution_id, payload)
        history = await self._take_over(execution_id, how)
        if not await self._admission.admit(*tokens, history=history):
            raise InputError(f"there is a run called {execution_id} already; choose another id")
        try:
            if history:
                await self._repairer.begin(execution_id)
                return execution_id
            for token in (*tokens, *(token_of(signal, tokens[0]) for signal in how.signals)):
                named = msgspec.structs.replace(token, publish_id=self._chance.publish_id())
                await self._bus.publish(EXECUTION, encode_message(named), priority=level_of(named))
        except BusError as problem:
            await self._withdraw(tokens[0], problem)
            raise
        return execution_id

    async def _take_over(self, execution_id: str, how: StartOptions) -> list[VisitRecord]:
        """Store the decision about a run, and return the history that it starts with."""
        if how is not DEFAULT_START:
            await self._decisions.note(decision_of(execution_id, how))
        for visit in how.kept:
            await self._copy_payload(visit.execution_id, visit.output_ref, execution_id)
        for signal in how.signals:
            await self._copy_payload(signal.execution_id, payload_of(signal), execution_id)
        return copy_visits(how.kept, execution_id)

    async def _copy_payload(self, from_id: str, ref: Ref | None, to_id: str) -> None:
        if ref is not None:
            body = Raw(await self._payloads.get(from_id, ref))
            await self._payloads.put(to_id, Payload(ref, body))

    async def _withdraw(self, first: Token, problem: BusError) -> None:
        """End a run whose first message the broker did not take: its caller gets the error, and
        will start another.

        Should this fail as well, the run is noted and has a state: the reconciler finds it silent,
        and starts it.
        """
        now_ms = self._clock.now_ms()
        text = f"the run could not be started: {problem}"
        with suppress(Exception):
            if await self._admission.withdraw(first):
                run = run_of(first, now_ms)
                message = ended_by_engine(run, "failed", "START_REFUSED", text, now_ms)
                await self._store.fold([], [message])
