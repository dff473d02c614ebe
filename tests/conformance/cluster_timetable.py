"""A master of a cluster that starts runs, and the time that passes for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from conformance.embedded_timetable import from_outside, publish
from conformance.jumping_time import JumpingTime
from conformance.laboratory import Event, Timetable
from onward.bootstrap.cluster_backend import backend_on
from onward.kernel.records import Definition
from onward.languages.serverless.read.document import parse
from onward.runtime.backend import Backend
from onward.runtime.token.start import DEFAULT_START, StartOptions
from onward.runtime.triggers.clock import LOOK_MS, TriggerClock
from onward.runtime.workflows.document_schedules import trigger_of
from onward.runtime.workflows.service import WorkflowService
from runtime.cluster.lab import Lab, Quiet

NAME = "name: case,"
_numbers = count(1)


class NotedBackend(Backend):
    """The backend of a master, which notes what it starts."""

    def __init__(self, lab: Lab) -> None:
        vars(self).update(vars(backend_on(lab.cluster)))
        self.started: list[tuple[str, int, Any]] = []

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run, and note it."""
        await super().start(definition, given, execution_id, how)
        self.started.append((execution_id, self.clock.now_ms(), given))


class ClusterTimetable:
    """A `Timetable` on a cluster. The workflow has a name that none had before it."""

    def __init__(self, lab: Lab, time: JumpingTime) -> None:
        self._backend = NotedBackend(lab)
        self._clock = TriggerClock(self._backend, Quiet())
        self._hub = lab.cluster.hub()
        self._time = time
        self._began_ms = time.now
        self._name = f"name: case-{next(_numbers)},"
        self._workflow = ""
        self._events = 0

    @property
    def runs(self) -> list[str]:
        """The ids of what has started."""
        return [run for run, _, _ in self._backend.started]

    @property
    def starts(self) -> list[float]:
        """After how many seconds runs have started."""
        return [(at_ms - self._began_ms) / 1000 for _, at_ms, _ in self._backend.started]

    @property
    def inputs(self) -> list[Any]:
        """What they were given."""
        return [given for _, _, given in self._backend.started]

    async def publish(self, source: str) -> None:
        """Publish a document, or the next version of it."""
        named = source.replace(NAME, self._name)
        self._workflow = parse(named).id
        await publish(self._backend, named)

    async def tell(self, events: Sequence[Event]) -> None:
        """Let events come from outside, one after another."""
        for event in events:
            self._events += 1
            await self._hub.publish(from_outside(self._events, event))

    async def enable(self, on: bool) -> None:
        """Enable or disable the workflow."""
        await WorkflowService(self._backend).enable(self._workflow, on, None)

    async def has_trigger(self) -> bool:
        """Return whether the workflow has a trigger of its own."""
        found = await self._backend.triggers.trigger(trigger_of(self._workflow))
        return found is not None and found.owned

    async def pass_by(self, span_ms: int) -> None:
        """Let a time pass."""
        await self._time.pass_by(span_ms)

    async def turn(self) -> int | None:
        """Fire what is due, and say when something is again: looking in vain is left out."""
        look_ms = await self._clock.turn()
        if look_ms < self._time.now + LOOK_MS:
            return look_ms
        return await self._backend.triggers.next_due()


@asynccontextmanager
async def open_timetable(
    lab: Lab, time: JumpingTime, ended: Callable[[Sequence[str]], Awaitable[None]]
) -> AsyncIterator[ClusterTimetable]:
    """Open a master; `ended` returns when runs have ended, which time is left for at the end."""
    time.held = True
    table = ClusterTimetable(lab, time)
    time.hands.append(table.turn)
    try:
        yield table
        await table.enable(on=False)  # and with that its schedule is gone
        time.held = False
        await ended(table.runs)
    finally:
        time.hands.remove(table.turn)


_conforms: type[Timetable] = ClusterTimetable
