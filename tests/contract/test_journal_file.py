"""The journal's file: one process at a time, and nothing but an onward database is ever touched."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.journal import SqliteJournal, prepare_file
from onward.adapters.sqlite.migrations import newest_version
from onward.errors import StorageError

HOLD = """
import sys, time
from pathlib import Path
from onward.adapters.sqlite.journal import SqliteJournal
journal = SqliteJournal(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "onward.db"


@pytest.fixture
def holder(path):
    """Another process that has the journal open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert "open\n" == process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_refused_and_told_who_has_it_and_what_to_do(path, holder):
    with pytest.raises(StorageError) as refused:
        SqliteJournal(path)

    text = str(refused.value)
    assert f"pid {holder.pid}" in text
    assert str(path) in text
    assert "--db" in text


def test_a_second_journal_in_the_same_process_is_refused(path):
    first = SqliteJournal(path)

    with pytest.raises(StorageError, match=f"pid {os.getpid()}"):
        SqliteJournal(path)
    first.close()
    SqliteJournal(path).close()


def test_kill_nine_releases_the_file(path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    SqliteJournal(path).close()


def test_closing_releases_the_file(path):
    for _ in range(3):
        SqliteJournal(path).close()


def test_missing_folders_are_made(tmp_path):
    SqliteJournal(tmp_path / "a" / "b" / "onward.db").close()

    assert (tmp_path / "a" / "b" / "onward.db").is_file()


def foreign(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE recipes (name TEXT)")
        db.execute("INSERT INTO recipes VALUES ('soup')")


def test_a_database_of_another_program_is_refused(path):
    foreign(path)

    with pytest.raises(StorageError, match="another program; choose another --db"):
        SqliteJournal(path)


def test_a_database_of_another_program_is_left_as_it_was(path):
    foreign(path)
    before = path.read_bytes()

    with pytest.raises(StorageError):
        SqliteJournal(path)

    assert before == path.read_bytes()


def test_a_database_of_another_application_id_is_refused(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA application_id = 42")
        db.execute("CREATE TABLE t (x)")

    with pytest.raises(StorageError, match="another program"):
        SqliteJournal(path)


@pytest.mark.parametrize("content", [b"hello, this is not a database\n" * 50, os.urandom(8192)])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path, content):
    path.write_bytes(content)

    with pytest.raises(StorageError, match="not a usable onward database"):
        SqliteJournal(path)

    assert content == path.read_bytes()


def test_an_empty_file_becomes_a_journal(path):
    path.touch()

    SqliteJournal(path).close()


def test_a_folder_is_refused(path):
    path.mkdir()

    with pytest.raises(StorageError, match=str(path)):
        SqliteJournal(path)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StorageError, match="cannot"):
        SqliteJournal(tmp_path / "file" / "onward.db")


def test_a_newer_schema_is_refused_with_the_remedy(path):
    SqliteJournal(path).close()
    newer = newest_version() + 1
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {newer}")

    for opening in (SqliteJournal, SqliteHistory, prepare_file):
        with pytest.raises(StorageError, match=f"schema version {newer}.*upgrade onward"):
            opening(path)


def test_a_truncated_database_is_refused_in_words(path):
    SqliteJournal(path).close()
    path.write_bytes(path.read_bytes()[:5000])

    with pytest.raises(StorageError, match=r"onward\.db"):
        SqliteJournal(path).unfinished()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)

    with pytest.raises(StorageError, match="Permission denied"):
        SqliteJournal(closed / "onward.db")


def test_after_a_refusal_the_file_is_not_held(path):
    foreign(path)
    with pytest.raises(StorageError):
        SqliteJournal(path)
    path.unlink()

    SqliteJournal(path).close()


def test_a_commit_survives_the_death_of_its_process(path):
    script = """
import os, sys
from pathlib import Path
from onward.adapters.sqlite.journal import SqliteJournal
from onward.kernel.records import Definition
from onward.ports.storage.journal import JournalCommit
SqliteJournal(Path(sys.argv[1])).commit(JournalCommit(definitions=[Definition("r", "wf", b"{}")]))
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=30)

    journal = SqliteJournal(path)
    assert b"{}" == journal.definition("r").source
    journal.close()
