"""What is kept beside a run goes with it: signals, links, listens, and which trigger started it."""

import sqlite3

import asyncpg
import pytest

from api.documents import chain
from api.test_events import event, listening, take, waits
from onward.adapters.postgres.store import open_store
from onward.adapters.sqlite.connection import SqliteConnection
from onward.adapters.sqlite.retention import SqliteRetention

LATER_MS = 2**52
COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name NOT IN (SELECT viewname FROM pg_views)
"""
NAMES = ("execution_id", "child_id", "parent_id")
SHORT_LIVED = {"firing", "start_key"}
"""Kept by age, for as long as a message may come again."""


async def prune(place):
    """Drop every run that has ended."""
    if isinstance(place, list):
        store = await open_store(place[2])
        try:
            return await store.prune(LATER_MS)
        finally:
            await store.close()
    file = SqliteConnection(place / "onward.db")
    try:
        return await SqliteRetention(file).prune(LATER_MS)
    finally:
        file.close()


async def left(place):
    """Return the runs that any table still names, by table."""
    found = {}
    if isinstance(place, list):
        db = await asyncpg.connect(place[2])
        try:
            for table, column in await db.fetch(COLUMNS):
                if column in NAMES and table not in SHORT_LIVED:
                    rows = await db.fetch(f"SELECT {column} FROM {table}")
                    found[f"{table}.{column}"] = {row[0] for row in rows}
        finally:
            await db.close()
        return found
    db = sqlite3.connect(place / "onward.db")
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for column in [row[1] for row in db.execute(f"PRAGMA table_info({table})")]:
            if column in NAMES and table not in SHORT_LIVED:
                rows = db.execute(f"SELECT {column} FROM {table}")
                found[f"{table}.{column}"] = {row[0] for row in rows}
    db.close()
    return found


@pytest.fixture
async def runs(service):
    """Runs that have ended, with everything that can be kept beside one, and one that goes on."""
    await service.create(chain("child", "{got: 1}"))
    settings = {"kind": "event", "type": "paid"}
    given = {"trigger_id": "t", "workflow_id": "child", "settings": settings}
    assert 201 == (await service.post("/triggers", given)).status_code
    document = chain("parent")
    document["nodes"][1] = {
        "id": "greet",
        "type": "workflow",
        "parameters": {"workflow_id": "child", "input": {}},
    }
    ended, going_on = await service.start(listening("paid")), await service.start(listening("late"))
    for one in (ended, going_on):
        await waits(service, one)
    await take(service, event("paid", "e1", {"text": "x" * 50_000}))
    await service.ended(await service.start(document))
    for one in (await service.get("/runs")).json()["items"]:
        if one["execution_id"] != going_on:
            await service.ended(one["execution_id"])
    return going_on


async def test_nothing_is_left_of_runs_that_are_dropped(service, place, runs):
    before = await left(place)

    dropped = await prune(place)

    after = await left(place)
    assert dropped >= 4
    for table in ("run_signal", "listener", "run_origin"):
        assert before[f"{table}.execution_id"] - {runs}, table
    assert before["run_link.child_id"]
    assert {} == {name: some for name, some in after.items() if some - {runs}}
    assert {runs} == after["listener.execution_id"]

    await take(service, event("late", "e2"))
    assert "completed" == (await service.ended(runs))["status"]
