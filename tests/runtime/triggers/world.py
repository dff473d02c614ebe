"""Masters that fire on a real store, in a time of their own, and that can be killed at any call."""

from __future__ import annotations

from contextlib import asynccontextmanager
from inspect import iscoroutinefunction
from random import Random

from onward.adapters.host.keys import KeyRing
from onward.adapters.host.sealer import HostSealer
from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.store import open_store
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.journal import SqliteJournal
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.errors import StateConflictError
from onward.kernel.records import Definition
from onward.ports.storage.triggers import Trigger
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from onward.runtime.schedules import first_due
from onward.runtime.triggers.clock import TriggerClock

BEGIN_SQLITE = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms)
VALUES (?, 'wf', 'ref', 'running', ?)
"""
BEGIN_POSTGRES = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, begun)
VALUES ($1, 'wf', 'ref', 'running', $2, true)
"""


class KilledError(BaseException):
    """The master is gone, in the middle of what it did."""


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self, now_ms):
        self.now = now_ms

    def now_ms(self):
        return self.now


class Chance:
    """Names in order."""

    def __init__(self):
        self.last = 0

    def publish_id(self):
        self.last += 1
        return f"{self.last:020x}"


class Lines:
    """A log that is kept."""

    def __init__(self):
        self.lines = []

    def write(self, level, message, **_):
        self.lines.append((level, message))


class Deadly:
    """A port whose calls may be the last thing its caller does: before them, or after."""

    def __init__(self, port, dice, chance):
        self._port = port
        self._dice = dice
        self._chance = chance

    def __getattr__(self, name):
        call = getattr(self._port, name)
        if not iscoroutinefunction(call):
            return call

        async def deadly(*given, **named):
            if self._dice.random() < self._chance:
                raise KilledError
            done = await call(*given, **named)
            if self._dice.random() < self._chance:
                raise KilledError
            return done

        return deadly


def schedule_from(trigger_id, settings, now_ms, **more):
    """Return a trigger that begins now."""
    return Trigger(
        trigger_id=trigger_id,
        workflow_id="wf",
        revision=1,
        enabled=True,
        settings=settings,
        next_due_ms=first_due(settings, now_ms, now_ms),
        created_ms=now_ms,
        changed_ms=now_ms,
        **more,
    )


class World:
    """A store, a clock, and the runs that were started."""

    def __init__(self, now_ms, triggers, registry, archive, tables, execute):
        self.clock = ManualClock(now_ms)
        self.chance = Chance()
        self.log = Lines()
        self.triggers = triggers
        self.registry = registry
        self.archive = archive
        self.gatherings = TableEventSets(tables)
        self.sealer = HostSealer(KeyRing({}, None), makes_key=False)
        self.schedules = {}
        self.started = {}
        self.attempts = 0
        self.cancelled = []
        self._execute = execute

    async def publish(self, name="wf"):
        """Keep a workflow; all but some tests start this one."""
        workflow = WorkflowRecord(
            workflow_id=name,
            revision=1,
            latest=1,
            published=1,
            enabled=True,
            created_ms=0,
            changed_ms=0,
        )
        ref = "ref" if name == "wf" else f"ref-{name}"
        version = WorkflowVersion(workflow_id=name, number=1, definition_ref=ref, created_ms=0)
        await self.registry.save(workflow, version, Definition(ref, name, b"{}"))

    def schedule_in(self, definition):
        """Return what the document of a workflow asks for; the tests say it."""
        return self.schedules.get(definition.workflow_id)

    async def add(self, trigger_id, settings, **more):
        """Add a schedule that begins now."""
        trigger = schedule_from(trigger_id, settings, self.clock.now, **more)
        assert await self.triggers.save(trigger)
        return trigger

    async def start(self, definition, given, execution_id):
        """Start a run, once: as both backends do."""
        self.attempts += 1
        if execution_id in self.started:
            raise StateConflictError("it is there", "RUN_EXISTS")
        self.started[execution_id] = given
        await self._execute("begin", execution_id, self.clock.now)

    async def end(self, execution_id, status="completed"):
        """Let a run end."""
        await self._execute("end", execution_id, status, self.clock.now)

    async def cancel(self, run, reason):
        """Cancel a run."""
        self.cancelled.append(run.execution_id)
        await self.end(run.execution_id, "cancelled")
        return True

    def master(self, dice=None, chance=0.0):
        """Return a master; with dice, one that may be killed."""
        return TriggerClock(Mortal(self, dice or Random(0), chance), self.log)

    async def firings(self, trigger_id):
        """Return all firings of a trigger, by the time they were due."""
        found = await self.triggers.firings(trigger_id, before=(2**62, ""), limit=10_000)
        return sorted(found, key=lambda one: (one.due_ms, one.key))


class Mortal:
    """A world as a master sees it that may be killed at any call."""

    def __init__(self, world, dice, chance):
        self.clock = world.clock
        self.registry = world.registry
        self.archive = world.archive
        self.triggers = Deadly(world.triggers, dice, chance)
        self.gatherings = Deadly(world.gatherings, dice, chance)
        self._runs = Deadly(world, dice, chance)

    async def start(self, *given):
        await self._runs.start(*given)

    async def cancel(self, *given):
        return await self._runs.cancel(*given)


@asynccontextmanager
async def sqlite_world(folder, now_ms):
    """A world in a file."""
    journal = SqliteJournal(folder / "onward.db")
    file = SqliteConnection(folder / "onward.db")
    statements = {
        "begin": BEGIN_SQLITE,
        "end": "UPDATE execution SET status = ?2, ended_ms = ?3 WHERE execution_id = ?1",
    }

    async def execute(name, *values):
        await file.do(lambda db: db.execute(statements[name], values))

    tables = SqliteDatabase(file)
    world = World(
        now_ms,
        TableTriggers(tables),
        TableWorkflows(tables),
        SqliteRunQueries(file),
        tables,
        execute,
    )
    await world.publish()
    try:
        yield world
    finally:
        file.close()
        journal.close()


@asynccontextmanager
async def postgres_world(url, now_ms):
    """A world in PostgreSQL."""
    store = await open_store(url)
    statements = {
        "begin": BEGIN_POSTGRES,
        "end": "UPDATE execution SET status = $2, ended_ms = $3 WHERE execution_id = $1",
    }

    async def execute(name, *values):
        async with store.pool.acquire() as db:
            await db.execute(statements[name], *values)

    tables = PostgresDatabase(store.pool, store.place)
    world = World(
        now_ms,
        TableTriggers(tables),
        TableWorkflows(tables),
        PostgresRunQueries(tables),
        tables,
        execute,
    )
    await world.publish()
    try:
        yield world
    finally:
        await store.close()
