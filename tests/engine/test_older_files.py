"""A file of the first release is brought up to date when it is opened, and keeps its runs."""

import sqlite3
from contextlib import closing
from importlib import resources

from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.journal import APPLICATION_ID, SqliteJournal
from onward.kernel.records import Definition, RunRecord
from onward.ports.storage.journal import JournalCommit

ROW = ("x1", "wf", "ref", "completed", 5, 9, b"{}")


def first_release(path):
    """Make a file as the first release made it, with one run."""
    schema = resources.files("onward.adapters.sqlite").joinpath("sql/schema.sql").read_text()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(schema.replace(", 'cancelled'", ""))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.execute("INSERT INTO definition VALUES ('ref', 'wf', x'7b7d')")
        db.execute("INSERT INTO execution VALUES (?, ?, ?, ?, ?, ?, ?)", ROW)


def shape(path):
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2"
        return db.execute(query).fetchall()


def test_an_older_file_keeps_its_runs_and_takes_cancelled_ones(tmp_path):
    path = tmp_path / "onward.db"
    first_release(path)
    journal = SqliteJournal(path)
    begun = RunRecord(
        execution_id="x2",
        workflow_id="wf",
        definition_ref="ref",
        status="running",
        started_ms=6,
    )
    ended = RunRecord(
        execution_id="x2",
        workflow_id="wf",
        definition_ref="ref",
        status="cancelled",
        started_ms=6,
        ended_ms=7,
    )

    journal.commit(JournalCommit(definitions=[Definition("ref", "wf", b"{}")], started=[begun]))
    journal.commit(JournalCommit(ended=[ended]))

    assert ["cancelled", "completed"] == [execution.status for execution in journal.executions()]
    assert 0 == journal.last_event("x1")
    journal.close()


def test_an_older_file_becomes_what_a_new_one_is(tmp_path):
    first_release(tmp_path / "old.db")
    for name in ("old", "new"):
        SqliteJournal(tmp_path / f"{name}.db").close()

    assert shape(tmp_path / "new.db") == shape(tmp_path / "old.db")


def test_an_older_file_can_be_looked_at_without_changing_it(tmp_path):
    path = tmp_path / "onward.db"
    first_release(path)
    before = shape(path)

    history = SqliteHistory(path)
    runs = [execution.execution_id for execution in history.executions()]
    history.close()

    assert (["x1"], before) == (runs, shape(path))
