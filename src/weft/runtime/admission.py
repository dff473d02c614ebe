"""Letting runs begin: they are noted, and their state is made, before anything else."""

from __future__ import annotations

from weft.kernel.effects import Begin
from weft.kernel.messages import Token, encode_tokens
from weft.ports.clock import Clock
from weft.ports.coordinator import Coordinator
from weft.ports.journal import Execution
from weft.ports.store import Store


class Admission:
    """Lets runs begin, each once."""

    def __init__(self, store: Store, coordinator: Coordinator, clock: Clock) -> None:
        self._store = store
        self._coordinator = coordinator
        self._clock = clock

    async def admit(self, *tokens: Token) -> bool:
        """Note the run that these tokens begin, then make its state. False: it is known already.

        Whoever dies in between leaves a run that is noted and has no state: it is begun again from
        its tokens, like any run whose state was lost. So nobody else makes a state for it here.
        """
        first = tokens[0]
        execution = Execution(
            execution_id=first.execution_id,
            workflow_id=first.workflow_id,
            definition_ref=first.definition_ref,
            status="running",
            started_ms=first.started_at or self._clock.now_ms(),
        )
        begun = await self._store.begin(execution, encode_tokens(tokens))
        if begun:
            await self._coordinator.answer(first.run, Begin())
        return begun
