"""A run that leaves the parked ones while somebody looks for it is found all the same, and once."""

from contextlib import AsyncExitStack, closing

import pytest

from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.start_rules import PostgresStartRules
from onward.adapters.postgres.store import open_store
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.journal import prepare_file
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.adapters.sqlite.start_rules import SqliteStartRules
from onward.kernel.records import Definition
from onward.ports.storage.run_queries import RunQuery
from onward.ports.storage.start_rules import ParkedRun, StartRule
from support.ledger import completion

RUN = ParkedRun(
    execution_id="x1",
    workflow_id="wf",
    definition_ref="ref",
    flow_key="wf",
    at_ms=5_000,
    due_ms=5_000,
    start=b"{}",
)


class Interrupted:
    """A database in which something else happens after each question."""

    def __init__(self, tables, meanwhile):
        self._tables = tables
        self._meanwhile = meanwhile

    async def rows(self, *words):
        found = await self._tables.rows(*words)
        await self._meanwhile()
        return found


@pytest.fixture
async def queries(place):
    """Runs of which one is parked, and leaves the parked ones after the first question."""
    async with AsyncExitStack() as stack:
        if isinstance(place, str):
            store = await open_store(place)
            stack.push_async_callback(store.close)
            tables = PostgresDatabase(store.pool, store.place)
            rules, queries = PostgresStartRules(tables), PostgresRunQueries(tables)
        else:
            prepare_file(place)
            file = stack.enter_context(closing(SqliteConnection(place)))
            tables = SqliteDatabase(file)
            rules, queries = SqliteStartRules(tables), SqliteRunQueries(file)
        await rules.park(RUN, StartRule(), Definition("ref", "wf", b"{}"))

        async def leave():
            await rules.drop(completion(ending="cancelled"), 9_000)

        queries._tables = Interrupted(tables, leave)
        yield queries


async def test_one_run_is_found(queries):
    found = await queries.run("x1")

    assert ("x1", "cancelled") == (found.execution_id, found.status)


async def test_a_page_of_runs_has_it_once(queries):
    found = await queries.runs(RunQuery(limit=10))

    assert [("x1", "cancelled")] == [(run.execution_id, run.status) for run in found]


async def test_its_log_has_a_beginning_and_an_end(queries):
    await queries.run("x1")

    assert ["run.started", "run.ended"] == [
        event.type for event in await queries.events("x1", after=0, limit=10)
    ]
    assert 2 == await queries.last_event("x1")
