"""A master on the file of an embedded engine, with one clock for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from conformance.laboratory import Event, Timetable
from languages.serverless.lab import File, TreeLab
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteDatabase
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.languages import Languages
from onward.kernel.ids import fingerprint
from onward.kernel.records import Definition
from onward.languages.serverless.read.document import parse
from onward.runtime.tasks import cancel
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.triggers.events import EventTriggers
from onward.runtime.workflows.document_schedules import trigger_of
from onward.runtime.workflows.service import WorkflowService
from support.harness import patiently
from support.jumping import JumpingClock

WORKFLOW = "test_case"


class Timeline(JumpingClock):
    """A clock that an engine and a master share: it jumps to whatever comes first for either."""

    def __init__(self, before: JumpingClock) -> None:
        super().__init__()
        self.now, self.idle = before.now, before.idle
        self.end = self.now
        self.over = asyncio.Event()
        self._alarms: dict[object, float] = {}

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set, or at `until_ms`, when nothing else comes before it."""
        until = float("inf") if until_ms is None else until_ms
        me = object()
        self._alarms[me] = until
        try:
            while True:
                for _ in range(5):
                    await asyncio.sleep(0)
                if event.is_set() or until <= self.now:
                    return
                if len(self._alarms) == 2 and self.idle() and not self.held:
                    first = min(self._alarms.values())
                    if first > self.end:
                        self.now = self.end
                        self.over.set()
                    elif first == until:
                        self.now = int(until)
                        return
                self._stirred = self._stirred if not self._stirred.is_set() else asyncio.Event()
                waits = [asyncio.ensure_future(one.wait()) for one in (event, self._stirred)]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for one in waits:
                        one.cancel()
        finally:
            del self._alarms[me]
            self.stir()

    async def pass_by(self, span_ms: int) -> None:
        """Let a time pass."""
        self.end = self.now + span_ms
        self.over.clear()
        self.release()
        await patiently(self.over.wait())
        self.hold()


class EmbeddedTimetable:
    """A `Timetable` on the file of a laboratory."""

    def __init__(self, lab: TreeLab, file: Any) -> None:
        tables = SqliteDatabase(file)
        self.kind = "embedded"
        self.clock = Timeline(lab.clock)
        lab.clock = self.clock
        self.chance = lab.chance
        self.registry = TableWorkflows(tables)
        self.archive = SqliteRunQueries(file)
        self.triggers = TableTriggers(tables)
        self.gatherings = TableEventSets(tables)
        self.schedule_in = Languages(builtin).schedule_in
        self.began = self.clock.now
        self.starts: list[float] = []
        self.inputs: list[Any] = []
        self.engine: Any = None
        self._lab = lab
        self._events = 0

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        program = self._lab._compiled(definition)
        await self.engine.start(program, definition.source, given, execution_id)
        self.starts.append((self.clock.now - self.began) / 1000)
        self.inputs.append(given)

    async def publish(self, source: str) -> None:
        """Publish a document, or the next version of it."""
        await publish(self, source)

    async def tell(self, events: Sequence[Event]) -> None:
        """Let events come from outside, one after another."""
        taking = EventTriggers(self.triggers, self.gatherings, self.clock)
        for event in events:
            self._events += 1
            taken = await taking.take(from_outside(self._events, event))
            assert [] == taken.failed

    async def enable(self, on: bool) -> None:
        """Enable or disable the workflow."""
        publishing = WorkflowService(self)  # type: ignore[arg-type]  # as much of one as is needed
        await publishing.enable(WORKFLOW, on, None)

    async def has_trigger(self) -> bool:
        """Return whether the workflow has a trigger of its own."""
        found = await self.triggers.trigger(trigger_of(WORKFLOW))
        return found is not None and found.owned

    async def pass_by(self, span_ms: int) -> None:
        """Let a time pass."""
        await self.clock.pass_by(span_ms)


@asynccontextmanager
async def open_timetable(lab: TreeLab) -> AsyncIterator[EmbeddedTimetable]:
    """Open a master on the file of a laboratory, with an engine."""
    file: Any = File(lab.path)
    table = EmbeddedTimetable(lab, file)
    table.clock.hold()
    async with lab.engine() as engine:
        table.engine = engine
        table.clock.idle = lab.clock.idle
        firing = asyncio.create_task(TriggerClock(table, lab.log).run())  # type: ignore[arg-type]
        try:
            yield table
        finally:
            await cancel(firing)


async def publish(backend: Any, source: str) -> None:
    """Publish a document, or the next version of it."""
    parsed = parse(source)
    definition = Definition(fingerprint(parsed.source), parsed.id, parsed.source)
    publishing = WorkflowService(backend)
    if await backend.registry.workflow(parsed.id) is None:
        await publishing.create(definition)
    else:
        await publishing.add_version(parsed.id, definition, None, publish=True)


def from_outside(number: int, event: Event) -> Event:
    """Return the event that comes as number so and so, with all that an event must have."""
    return {"specversion": "1.0", "id": f"e{number}", "source": "test", **event}


_conforms: type[Timetable] = EmbeddedTimetable
