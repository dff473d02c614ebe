"""The journal in one SQLite file: write-ahead log, one writer, every batch one transaction.

First who may write the file (`FileLock`, `prepare_file`), then the journal itself, then how a batch
is written, table by table.

`synchronous=FULL` makes a commit survive the loss of power, not only of the process. Because many
handled tokens share a commit, its cost is shared too.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from onward.adapters.sql.rows import row_of_lines, row_of_visit
from onward.adapters.sqlite.connection import transaction
from onward.adapters.sqlite.migrations import file_version, migrate, newest_version
from onward.adapters.sqlite.rows import SqliteReader
from onward.errors import InputError, StorageError
from onward.kernel.messages import encode_message
from onward.ports.storage.journal import CellChanges, Journal, JournalCommit

_pack = msgspec.msgpack.Encoder().encode


# -- who may write the file --------------------------------------------------------------------


class FileLock:
    """An advisory lock beside the database file, held from construction until `release`.

    The operating system releases it when the process ends, however it ends, so a killed engine
    never leaves a lock behind. Readers need no lock.
    """

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-lock")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise StorageError(f"cannot open {self._path}: {problem.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StorageError(
                f"{database} is in use by another onward process (pid {holder}); "
                "wait for it to end, or give this one a file of its own with --db"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have the database."""
        os.close(self._file)


def no_database(path: Path) -> InputError:
    """Return the error for a file that does not exist and must."""
    return InputError(
        f"there is no database {path}: nothing has run here yet, or --db must name another"
    )


def prepare_file(path: Path, *, create: bool = True) -> None:
    """Bring a file up to date, unless it is: then its engine may be running.

    Raises InputError when there is no file and none may be created.
    """
    if not path.exists():
        if not create:
            raise no_database(path)
    elif file_version(path) == newest_version():
        return
    SqliteJournal(path).close()


# -- the journal -------------------------------------------------------------------------------


class SqliteJournal(SqliteReader):
    """A `Journal` in a file of its own."""

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            stack.callback(FileLock(_with_folder(path)).release)
            try:
                version = file_version(path) if path.exists() else 0
                self._writer = stack.enter_context(closing(_connect(path)))
                super().__init__(stack.enter_context(closing(_connect(path))))
                migrate(self._writer, version)
            except sqlite3.DatabaseError as problem:
                raise StorageError(f"{path} is not a usable onward database: {problem}") from None
            self._opened = stack.pop_all()

    def close(self) -> None:
        """Close the file and let another process have it."""
        self._opened.close()

    def commit(self, batch: JournalCommit) -> None:
        db = self._writer
        try:
            with transaction(db):
                _write_runs(db, batch)
                _write_tokens(db, batch)
                for execution_id, changes in batch.cells.items():
                    _write_cells(db, execution_id, changes)
                _clear_ended(db, batch)
        except sqlite3.Error as problem:
            raise StorageError(f"the database refused a commit: {problem}") from problem


def _with_folder(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StorageError(f"cannot create {path.parent}: {problem.strerror}") from None
    return path


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA cache_size = -65536")
        db.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        db.close()
        raise
    return db


# -- writing a batch ---------------------------------------------------------------------------


def _write_runs(db: sqlite3.Connection, batch: JournalCommit) -> None:
    if batch.definitions:
        db.executemany("INSERT OR IGNORE INTO definition VALUES (?, ?, ?)", batch.definitions)
    if batch.started:
        db.executemany(
            "INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms)"
            " VALUES (?, ?, ?, 'running', ?)",
            [
                (run.execution_id, run.workflow_id, run.definition_ref, run.started_ms)
                for run in batch.started
            ],
        )
    if batch.payloads:
        db.executemany(
            "INSERT OR IGNORE INTO payload VALUES (?, ?, ?)",
            [(name, payload.ref.hash, bytes(payload.body)) for name, payload in batch.payloads],
        )
    if batch.node_runs:
        db.executemany(
            "INSERT INTO node_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(row_of_visit, batch.node_runs),
        )
        db.executemany(
            "INSERT INTO node_log (execution_id, node_id, attempt, lineage, lines)"
            " VALUES (?, ?, ?, ?, ?)",
            [row_of_lines(visit) for visit in batch.node_runs if visit.log],
        )
    if batch.events:
        db.executemany("INSERT INTO event VALUES (?, ?, ?)", batch.events)
    for run in batch.ended:
        # A terminal state is final: the row changes only while it still runs.
        db.execute(
            "UPDATE execution SET status = ?, ended_ms = ?, completion = ?"
            " WHERE execution_id = ? AND status = 'running'",
            (run.status, run.ended_ms, run.completion, run.execution_id),
        )
    if batch.quarantined:
        db.executemany(
            "INSERT INTO quarantine (execution_id, reason, body, at_ms) VALUES (?, ?, ?, ?)",
            [
                (message.execution_id, message.reason, message.body, message.at_ms)
                for message in batch.quarantined
            ],
        )


def _write_tokens(db: sqlite3.Connection, batch: JournalCommit) -> None:
    if batch.consumed:
        # Whatever a token leads to is in the batch that consumes it, so this is what makes every
        # effect happen once: a message that is gone cannot be consumed again.
        gone = db.executemany("DELETE FROM message WHERE seq = ?", [(n,) for n in batch.consumed])
        if gone.rowcount != len(batch.consumed):
            raise StorageError("a message was consumed twice")
    if batch.sent:
        db.executemany(
            "INSERT INTO message VALUES (?, ?, ?)",
            [(seq, token.execution_id, encode_message(token)) for seq, token in batch.sent.items()],
        )
    if batch.cancelled:
        db.executemany("DELETE FROM timer WHERE execution_id = ? AND timer_id = ?", batch.cancelled)
    if batch.timers:
        # The first setting stands: a step that is repeated must not move its own timer.
        db.executemany(
            "INSERT OR IGNORE INTO timer VALUES (?, ?, ?, ?)",
            [
                (token.execution_id, timer_id, due_ms, encode_message(token))
                for timer_id, (due_ms, token) in batch.timers.items()
            ],
        )


def _write_cells(db: sqlite3.Connection, execution_id: str, changes: CellChanges) -> None:
    if changes.dropped:
        db.executemany(
            "DELETE FROM cell WHERE execution_id = ? AND grp = ?",
            [(execution_id, group) for group in changes.dropped],
        )
    rows = [
        (execution_id, group, kind, field, _pack(value))
        for group, cells in changes.cells.items()
        for (kind, field), value in cells.items()
    ]
    if rows:
        db.executemany("INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?)", rows)


def _clear_ended(db: sqlite3.Connection, batch: JournalCommit) -> None:
    """Leave nothing of a run that ended but its row, its history and its payloads."""
    for run in batch.ended:
        db.execute("DELETE FROM message WHERE execution_id = ?", (run.execution_id,))
        db.execute("DELETE FROM timer WHERE execution_id = ?", (run.execution_id,))
        db.execute("DELETE FROM cell WHERE execution_id = ?", (run.execution_id,))


_conforms: type[Journal] = SqliteJournal
