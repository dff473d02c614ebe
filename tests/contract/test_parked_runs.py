"""A run that leaves the parked ones while somebody looks for it is found all the same, and once."""

from contextlib import asynccontextmanager, closing

import pytest

from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.start_rules import PostgresStartRules
from onward.adapters.postgres.store import open_store
from onward.adapters.sqlite.journal import SqliteJournal
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.adapters.sqlite.start_rules import SqliteStartRules
from onward.kernel.records import Definition
from onward.ports.storage.run_queries import RunQuery
from onward.ports.storage.start_rules import ParkedRun, StartRule
from serverless.lab import File
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
    """Whatever is asked of it is answered, and then something else happens before the next."""

    def __init__(self, one, asked, meanwhile):
        async def ask(*words):
            answer = await getattr(one, asked)(*words)
            await meanwhile()
            return answer

        setattr(self, asked, ask)


class LookedAt(PostgresRunQueries):
    """An archive of which every question is interrupted."""

    def __init__(self, store, asked, meanwhile):
        super().__init__(store.pool, store.place)
        self._how = asked, meanwhile

    @asynccontextmanager
    async def connection(self):
        async with super().connection() as db:
            yield Interrupted(db, *self._how)


@pytest.fixture
async def flow(place):
    if not isinstance(place, str):
        with closing(SqliteJournal(place)):
            yield SqliteStartRules(File(place))
        return
    store = await open_store(place)
    yield PostgresStartRules(store.pool, store.place)
    await store.close()


@pytest.fixture
async def archive(flow):
    """What makes an archive in which the run leaves the parked ones after the first question."""
    await flow.park(RUN, StartRule(), Definition("ref", "wf", b"{}"))

    async def leave():
        await flow.drop(completion(ending="cancelled"), 9_000)

    def make(asked):
        if isinstance(flow, PostgresStartRules):
            return LookedAt(flow, asked, leave)
        return SqliteRunQueries(Interrupted(flow._file, "do", leave))

    return make


async def test_one_run_is_found(archive):
    found = await archive("fetchrow").run("x1")

    assert ("x1", "cancelled") == (found.execution_id, found.status)


async def test_a_page_of_runs_has_it_once(archive):
    found = await archive("fetch").runs(RunQuery(limit=10))

    assert [("x1", "cancelled")] == [(one.execution_id, one.status) for one in found]
