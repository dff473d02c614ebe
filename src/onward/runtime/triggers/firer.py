"""Firing triggers: the firing is recorded first, then its run starts under an id derived from it.

A process that dies in between leaves a firing that is to start. Any master starts it again, and a
run that is there already is the one that was meant.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec

from onward.errors import (
    DefinitionError,
    ExpressionError,
    InputError,
    MessageError,
    NotThereError,
    OnwardError,
    StateConflictError,
    StorageError,
    UnavailableError,
)
from onward.kernel.json import decode
from onward.ports.cluster.bus import BusError
from onward.ports.storage.triggers import Cause, Firing, FiringState, Overlap, Trigger
from onward.runtime.backend import Backend
from onward.runtime.schedules import moments
from onward.runtime.triggers.firing import firing_of, schedule_of, scheduled
from onward.runtime.workflows.service import WorkflowService

MOST_AT_ONCE = 1_000
"""Times that one backfill makes up for."""
REFUSALS = (
    StateConflictError,
    NotThereError,
    DefinitionError,
    ExpressionError,
    InputError,
    MessageError,
)
"""Errors that no other attempt can overcome."""
OUTAGES = (StorageError, UnavailableError, BusError, OSError)
"""Errors that another attempt may overcome."""


class Backfill(NamedTuple):
    """The result of a backfill."""

    times: int
    added: int
    """The others had fired already."""


class Firer:
    """Records firings, and starts their runs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._workflows = WorkflowService(backend)

    async def fire(self, trigger: Trigger, cause: Cause, key: str, given: Any) -> Firing:
        """Fire now, once for each key, and return the firing that the key stands for.

        Raises the reason why no run can start, and then nothing is recorded. When a service is away
        the firing is recorded, and starts when the service is back.
        """
        await self._workflows.definition_of(trigger.workflow_id, None)
        now_ms = self._backend.clock.now_ms()
        firing = await self._backend.triggers.record(
            firing_of(trigger, cause, key, now_ms, now_ms, given, overlap="allow", start=True)
        )
        if firing.state == "starting":
            try:
                firing = await self.start(firing, trigger)
            except OUTAGES:
                return firing
        if firing.state == "refused":
            raise StateConflictError(f"this message was refused before: {firing.note}", "REFUSED")
        return firing

    async def start(self, firing: Firing, trigger: Trigger | None) -> Firing:
        """Start the run of a firing, or refuse it for good, and return the firing as it is then."""
        note = ""
        try:
            if trigger is None:
                raise NotThereError("the trigger was removed")
            definition = await self._workflows.definition_of(trigger.workflow_id, None)
            given = None if firing.input is None else decode(firing.input)
            await self._backend.start(definition, given, firing.execution_id)
        except REFUSALS as problem:
            if not (isinstance(problem, StateConflictError) and problem.code == "RUN_EXISTS"):
                note = _line(problem)
        state: FiringState = "refused" if note else "started"
        await self._backend.triggers.mark(firing, state, note)
        return msgspec.structs.replace(firing, state=state, note=note)

    async def backfill(
        self, trigger: Trigger, from_ms: int, until_ms: int, overlap: Overlap
    ) -> Backfill:
        """Fire for every time of a schedule from one moment to another that has not fired yet."""
        schedule = schedule_of(trigger)
        times = takewhile(
            lambda time_ms: time_ms <= until_ms, moments(schedule, trigger.created_ms, from_ms - 1)
        )
        wanted = list(islice(times, MOST_AT_ONCE + 1))
        if len(wanted) > MOST_AT_ONCE:
            raise InputError(
                f"there are more than {MOST_AT_ONCE} times between them: choose a shorter range"
            )
        await self._workflows.definition_of(trigger.workflow_id, None)
        now_ms = self._backend.clock.now_ms()
        firings = [
            scheduled(trigger, time_ms, now_ms, cause="backfill", overlap=overlap)
            for time_ms in wanted
        ]
        return Backfill(len(wanted), await self._backend.triggers.add(firings))


def _line(problem: OnwardError) -> str:
    return str(problem).splitlines()[0][:500] if str(problem) else type(problem).__name__
