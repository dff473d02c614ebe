"""Migrations of the database file: a file of any earlier release becomes what a new one is."""

import re
import sqlite3
from contextlib import closing
from importlib import resources

import pytest

from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.journal import SqliteJournal, prepare_file
from onward.adapters.sqlite.migrations import (
    APPLICATION_ID,
    MIGRATION_NAME,
    file_version,
    migrations,
    newest_version,
)
from onward.errors import InputError
from onward.kernel.records import Definition, RunRecord
from onward.ports.storage.journal import JournalCommit

FOLDER = resources.files("onward.adapters.sqlite").joinpath("sql")
UNNUMBERED = 14
"""Before migrations were numbered, a file said version 1 with any of these applied."""
ROW = ("x1", "wf", "ref", "completed", 5, 9, b"{}")


def make_file(path, applied, version):
    """Make a file as an earlier release left it, with one run."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for number, script in migrations().items():
            if number in applied:
                db.executescript(script)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("INSERT INTO definition VALUES ('ref', 'wf', x'7b7d')")
        db.execute("INSERT INTO execution VALUES (?, ?, ?, ?, ?, ?, ?)", ROW)
        if 4 in applied:
            db.execute("INSERT INTO event VALUES ('x1', 1, x'7b7d')")


def shape(path):
    """Return everything that the file defines, however its script was written."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    with closing(sqlite3.connect(path)) as db:
        return sorted(
            (kind, name, table, re.sub(r'\s+|"', "", script))
            for kind, name, table, script in db.execute(query)
        )


def places(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT execution_id, seq FROM event_place").fetchall()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "onward.db"


@pytest.fixture
def new_shape(tmp_path):
    prepare_file(tmp_path / "new.db")
    return shape(tmp_path / "new.db")


def test_the_migrations_make_the_schema(path, new_shape):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FOLDER.joinpath("schema.sql").read_text())

    assert shape(path) == new_shape


def test_migrations_are_numbered_without_gaps():
    names = [file.name for file in FOLDER.joinpath("migrations").iterdir()]

    assert list(range(1, len(names) + 1)) == sorted(
        int(MIGRATION_NAME.fullmatch(name)["number"]) for name in names
    )


@pytest.mark.parametrize("last", range(1, newest_version() + 1))
def test_a_file_of_any_version_becomes_what_a_new_one_is(path, new_shape, last):
    make_file(path, range(1, last + 1), last)

    SqliteJournal(path).close()

    assert (new_shape, newest_version()) == (shape(path), file_version(path))


@pytest.mark.parametrize(
    "applied",
    [
        *(range(1, last + 1) for last in range(1, UNNUMBERED + 1)),
        [1, 3],
        [1, 2, 4, 5, 6, 7, 8, 9, 10],
        range(1, UNNUMBERED),
    ],
    ids=lambda applied: "-".join(map(str, applied)),
)
def test_a_file_from_before_migrations_were_numbered_becomes_what_a_new_one_is(
    path, new_shape, applied
):
    make_file(path, applied, version=1)

    SqliteJournal(path).close()

    assert (new_shape, newest_version()) == (shape(path), file_version(path))
    assert ([("x1", 1)] if 4 in applied else []) == places(path)


def test_opening_a_file_that_is_up_to_date_changes_nothing(path):
    prepare_file(path)
    before = path.read_bytes()

    prepare_file(path)

    assert before == path.read_bytes()


def test_a_file_that_is_up_to_date_is_prepared_while_its_engine_runs(path):
    with closing(SqliteJournal(path)):
        prepare_file(path)


def test_a_file_that_may_not_be_created_must_exist(path):
    with pytest.raises(InputError, match="nothing has run here yet"):
        prepare_file(path, create=False)

    assert not path.exists()


def test_an_older_file_keeps_its_runs_and_takes_cancelled_ones(path):
    make_file(path, [1], version=1)
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

    with closing(SqliteJournal(path)) as journal:
        journal.commit(JournalCommit(definitions=[Definition("ref", "wf", b"{}")], started=[begun]))
        journal.commit(JournalCommit(ended=[ended]))

        assert ["cancelled", "completed"] == [run.status for run in journal.executions()]
        assert 0 == journal.last_event("x1")


def test_an_older_file_can_be_read_without_changing_it(path):
    make_file(path, [1], version=1)
    before = shape(path)

    with closing(SqliteHistory(path)) as history:
        runs = [run.execution_id for run in history.executions()]
        assert [] == history.waited_for("x1")

    assert (["x1"], before) == (runs, shape(path))
