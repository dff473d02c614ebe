"""Sentences about schedules: documents are published, time passes, and runs start by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from conformance.scenarios import HEAD, Stage, step, value_of, within
from support.harness import patiently
from support.jumping import JumpingClock
from weft.adapters.access.gatherings import TableGatherings
from weft.adapters.embedded.archive import SqliteArchive
from weft.adapters.embedded.registry import SqliteRegistry
from weft.adapters.embedded.tables import SqliteTables
from weft.adapters.embedded.triggers import SqliteTriggers
from weft.bootstrap.languages import schedule_in
from weft.errors import DefinitionError
from weft.kernel.ids import fingerprint
from weft.languages.serverless.document import parse
from weft.ports.journal import Definition
from weft.runtime.cancelling import cancel
from weft.runtime.event_triggers import EventTriggers
from weft.runtime.publishing import Publishing
from weft.runtime.trigger_clock import TriggerClock

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


class Timetable:
    """A master on the file of a laboratory, and the runs that it starts."""

    def __init__(self, stage: Stage, file: Any) -> None:
        lab = stage.lab
        tables = SqliteTables(file)
        self.kind = "embedded"
        self.clock = Timeline(lab.clock)
        lab.clock = self.clock
        self.chance = lab.chance
        self.registry = SqliteRegistry(file)
        self.archive = SqliteArchive(file)
        self.triggers = SqliteTriggers(file)
        self.gatherings = TableGatherings(tables)
        self.schedule_in = schedule_in
        self.began = self.clock.now
        self.starts: list[float] = []
        self.inputs: list[Any] = []
        self.engine: Any = None
        self._lab = lab
        self.events = 0

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        program = self._lab._compiled(definition)
        await self.engine.start(program, definition.source, given, execution_id)
        self.starts.append((self.clock.now - self.began) / 1000)
        self.inputs.append(given)

    async def publish(self, source: str) -> None:
        """Publish a document, or the next version of it."""
        parsed = parse(source)
        definition = Definition(fingerprint(parsed.source), parsed.id, parsed.source)
        publishing = Publishing(self)  # type: ignore[arg-type]  # as much of one as is needed
        if await self.registry.workflow(parsed.id) is None:
            await publishing.create(definition)
        else:
            await publishing.add_version(parsed.id, definition, None, publish=True)

    async def tell(self, events: list[dict[str, Any]]) -> None:
        """Let events come from outside, one after another."""
        taking = EventTriggers(self.triggers, self.gatherings, self.clock)
        for event in events:
            self.events += 1
            head = {"specversion": "1.0", "id": f"e{self.events}", "source": "test"}
            taken = await taking.take({**head, **event})
            assert [] == taken.failed

    async def enable(self, on: bool) -> None:
        """Enable or disable the workflow."""
        publishing = Publishing(self)  # type: ignore[arg-type]  # as much of one as is needed
        await publishing.enable(WORKFLOW, on, None)


@asynccontextmanager
async def _open(stage: Stage) -> AsyncIterator[Timetable]:
    from serverless.lab import File

    file: Any = File(stage.lab.path)
    table = Timetable(stage, file)
    table.clock.hold()
    async with stage.lab.engine() as engine:
        table.engine = engine
        table.clock.idle = stage.lab.clock.idle
        firing = asyncio.create_task(TriggerClock(table, stage.lab.log).run())  # type: ignore[arg-type]
        try:
            yield table
        finally:
            await cancel(firing)


async def _timetable(stage: Stage) -> Timetable:
    """Return the master of a scenario, which works until the scenario ends."""
    if "timetable" not in stage.more:
        opened = _open(stage)
        stage.more["timetable"] = await opened.__aenter__()
        stage.closing.append(lambda: opened.__aexit__(None, None, None))
    table: Timetable = stage.more["timetable"]
    return table


async def _publish(stage: Stage, source: str) -> Timetable | None:
    try:
        parse(source)
    except DefinitionError as refused:
        stage.refused = refused
        return None
    table = await _timetable(stage)
    await table.publish(source)
    return table


@step("the workflow is published and ([0-9.]+) seconds pass")
async def _(stage: Stage, seconds: str) -> None:
    table = await _publish(stage, stage.definition)
    if table is not None:
        await table.clock.pass_by(round(float(seconds) * 1000))


@step("a version with this body is published and ([0-9.]+) seconds pass:")
async def _(stage: Stage, seconds: str, block: str) -> None:
    table = await _publish(stage, HEAD.replace("1.0.0", "1.1.0") + block)
    assert table is not None
    await table.clock.pass_by(round(float(seconds) * 1000))


@step("these events come and ([0-9.]+) seconds pass:")
async def _(stage: Stage, seconds: str, block: str) -> None:
    table = await _timetable(stage)
    await table.tell(value_of(block))
    await table.clock.pass_by(round(float(seconds) * 1000))


@step("the workflow is (enabled|disabled) and ([0-9.]+) seconds pass")
async def _(stage: Stage, how: str, seconds: str) -> None:
    table = await _timetable(stage)
    await table.enable(how == "enabled")
    await table.clock.pass_by(round(float(seconds) * 1000))


@step("runs should have started after these seconds: (.*)")
async def _(stage: Stage, seconds: str) -> None:
    table = await _timetable(stage)
    assert [float(one) for one in seconds.split(",") if one.strip()] == table.starts


@step("the inputs of these runs should be:")
async def _(stage: Stage, block: str) -> None:
    """In any order: what comes in the same millisecond starts as it likes."""
    table = await _timetable(stage)
    left = list(table.inputs)
    for one in value_of(block):
        found = [given for given in left if _fits(one, given)]
        assert found, (one, left)
        left.remove(found[0])
    assert [] == left


def _fits(expected: Any, given: Any) -> bool:
    if not isinstance(expected, list):
        return bool(expected == given)
    return len(expected) == len(given) and all(map(within, expected, given))


@step("the workflow should have (no|one) trigger of its own")
async def _(stage: Stage, many: str) -> None:
    table = await _timetable(stage)
    found = await table.triggers.trigger(f"schedule_{WORKFLOW}")
    assert (many == "one") == (found is not None and found.owned)
