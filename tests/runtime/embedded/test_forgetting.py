"""Runs that ended long ago leave the file of the journal with everything that was theirs."""

import sqlite3

from onward.adapters.sqlite.connection import SqliteConnection
from onward.adapters.sqlite.retention import SqliteRetention
from onward.client import AsyncEngine

SAYS = {
    "id": "says",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {"id": "say", "type": "log", "parameters": {"message": "hello"}},
    ],
    "edges": [{"id": "e", "src": "start", "dst": "say"}],
}


async def test_old_runs_are_dropped_and_others_stay(tmp_path):
    file = tmp_path / "onward.db"
    async with AsyncEngine.embedded(file) as engine:
        runs = [await engine.start(SAYS) for _ in range(45)]
        for run in runs:
            await run.wait(60)
        young = await engine.start(SAYS)
        await young.wait(60)
        db = sqlite3.connect(file)
        ids = [(run.id,) for run in runs]
        db.executemany("UPDATE execution SET ended_ms = 1000 WHERE execution_id = ?", ids)
        db.commit()
        second = SqliteConnection(file)
        try:
            forgetting = SqliteRetention(second)
            counts = [await forgetting.prune(999), await forgetting.prune(1001)]
        finally:
            second.close()
        left = [run.execution_id async for run in engine.runs()]
        events = [event.seq async for event in young.events()]
        lines = [log.message async for log in young.logs()]

    assert [0, 45] == counts
    assert [young.id] == left
    assert (list(range(1, len(events) + 1)), ["hello"]) == (events, lines)
    assert events
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        if "execution_id" in columns:
            found = {row[0] for row in db.execute(f"SELECT execution_id FROM {table}")}
            assert found <= {young.id}, table
    db.close()
