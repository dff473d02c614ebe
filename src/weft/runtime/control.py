"""Ending runs on a cluster because somebody wants them ended."""

from __future__ import annotations

from weft.kernel.effects import Close, Forget
from weft.kernel.messages import encode_message, run_of
from weft.ports.bus import Bus
from weft.ports.clock import Clock
from weft.ports.coordinator import Coordinator
from weft.ports.journal import Execution
from weft.ports.timers import Timers
from weft.runtime.queues import COMPLETION
from weft.runtime.reporting import cancelled

BY = "cancel"
"""All who cancel a run are one: whoever repeats what another has not finished gets its answers."""


class Canceller:
    """Cancels runs."""

    def __init__(self, bus: Bus, coordinator: Coordinator, timers: Timers, clock: Clock) -> None:
        self._bus = bus
        self._coordinator = coordinator
        self._timers = timers
        self._clock = clock

    async def cancel(self, run: Execution, reason: str = "") -> bool:
        """End a run as cancelled. False: it has ended already.

        Closing is one compare-and-set, after which every token of the run is dropped when it is
        claimed and whatever a running node comes to has no effect. Dying half-way leaves what the
        next call completes.
        """
        state = run_of(run.execution_id, run.generation)
        now_ms = self._clock.now_ms()
        message = cancelled(run.workflow_id, run.execution_id, run.started_ms, now_ms, reason)
        ask = self._coordinator.answer
        standing = await ask(state, Close(by=BY, message=message))
        if standing is None:
            return False
        await self._bus.publish(COMPLETION, encode_message(standing))
        await self._timers.cancel_all(state)
        await ask(state, Forget())
        return True
