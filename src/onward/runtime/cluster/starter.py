"""Letting runs begin: they are noted, and their state is made, before anything else."""

from __future__ import annotations

from collections.abc import Sequence

from onward.kernel.effects import Begin, Supersede
from onward.kernel.messages import CompletionMessage, Token, encode_tokens
from onward.kernel.outcome import NodeError
from onward.kernel.records import RunRecord, VisitRecord
from onward.kernel.timestamps import to_iso
from onward.ports.clock import Clock
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.storage.history_store import HistoryStore


class RunAdmission:
    """Lets runs begin, each once."""

    def __init__(self, store: HistoryStore, coordinator: Coordinator, clock: Clock) -> None:
        self._store = store
        self._coordinator = coordinator
        self._clock = clock

    async def admit(self, *tokens: Token, kept: Sequence[VisitRecord] = ()) -> bool:
        """Note the run that these tokens begin, then make its state. False: it is known already.

        A run that keeps a history has it in the same moment, and its state is left to be made: from
        that history.

        Whoever dies in between leaves a run that is noted and has no state: it is begun again from
        its tokens, like any run whose state was lost. So nobody else makes a state for it here.
        """
        first = tokens[0]
        execution = RunRecord(
            execution_id=first.execution_id,
            workflow_id=first.workflow_id,
            definition_ref=first.definition_ref,
            status="running",
            started_ms=first.started_at or self._clock.now_ms(),
        )
        begun = await self._store.begin(execution, encode_tokens(tokens), kept)
        if begun and not kept:
            await self._coordinator.answer(first.state_id, Begin())
        return begun

    async def withdraw(self, first: Token) -> bool:
        """Close the state of a run that could not be started. False: it has ended already."""
        return await self._coordinator.answer(first.state_id, Supersede()) is None


def refused(first: Token, reason: str, now_ms: int) -> CompletionMessage:
    """Return the end of a run whose first message was not taken."""
    return CompletionMessage(
        workflow_id=first.workflow_id,
        execution_id=first.execution_id,
        status="failed",
        final_context={},
        completed_at=to_iso(now_ms),
        total_duration_ms=max(0, now_ms - first.started_at),
        error=NodeError(f"the run could not be started: {reason}", "START_REFUSED"),
    )
