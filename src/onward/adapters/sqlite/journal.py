"""The journal in one SQLite file: write-ahead log, one writer, every batch one transaction.

`synchronous=FULL` makes a commit survive the loss of power, not only of the process. Because many
handled tokens share a commit, its cost is shared too.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from onward.adapters.sqlite.rows import SqliteReader
from onward.errors import StorageError
from onward.kernel.log_lines import write_lines
from onward.kernel.messages import encode_message
from onward.kernel.records import VisitRecord
from onward.ports.storage.journal import CellChanges, Journal, JournalCommit

# -- One process at a time: an advisory lock beside the database file.
#
# The operating system releases it when the process ends, however it ends, so a killed engine never
# leaves a lock behind. Readers need no lock.


class FileLock:
    """Held from construction until `release`."""

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


SCHEMA_VERSION = 1
APPLICATION_ID = 0x77656674  # "onward"

_pack = msgspec.msgpack.Encoder().encode


class SqliteJournal(SqliteReader):
    """A `Journal` in a file of its own."""

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            stack.callback(FileLock(_prepared(path)).release)
            try:
                fresh = _is_fresh(path)
                self._writer = stack.enter_context(closing(_connect(path)))
                super().__init__(stack.enter_context(closing(_connect(path))))
                if fresh:
                    _create(self._writer)
                _extend(self._writer)
            except sqlite3.DatabaseError as problem:
                raise StorageError(f"{path} is not a usable onward database: {problem}") from None
            self._opened = stack.pop_all()

    def close(self) -> None:
        """Close the file and let another process have it."""
        self._opened.close()

    # -- writing -------------------------------------------------------------------------------

    def commit(self, batch: JournalCommit) -> None:
        """Write the batch in one transaction."""
        db = self._writer
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                _write_runs(db, batch)
                _write_tokens(db, batch)
                for execution_id, changes in batch.cells.items():
                    _write_cells(db, execution_id, changes)
                _clear_ended(db, batch)
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back already
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise StorageError(f"the database refused a commit: {problem}") from problem


def _prepared(path: Path) -> Path:
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


def _is_fresh(path: Path) -> bool:
    """Return whether the file has yet to become an onward database. Looks, and changes nothing."""
    if not path.exists():
        return True
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application or tables):
        raise StorageError(f"{path} is a database of another program; choose another --db")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} has schema version {version}, this onward knows {SCHEMA_VERSION}: upgrade "
            "onward"
        )
    return bool(application != APPLICATION_ID)


def _create(db: sqlite3.Connection) -> None:
    schema = resources.files("onward.adapters.sqlite").joinpath("sql/schema.sql").read_text()
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
    db.executescript(f"BEGIN; {schema} {stamp} COMMIT;")


_ADDED = {
    "firing_active": "triggers.sql",
    "audit": "access.sql",
    "run_control": "control.sql",
    "flow_run": "flow.sql",
    "run_link": "signals.sql",
    "node_log": "streams.sql",
    "listener": "listeners.sql",
    "gathered_event": "gatherings.sql",
    "outlet": "outlets.sql",
    "run_origin": "origins.sql",
}
"""What later releases added: by something that it has, the script that makes it."""


def _extend(db: sqlite3.Connection) -> None:
    """Bring a file of an earlier release up to date; what is added does not disturb that one."""
    tables = dict(db.execute("SELECT name, sql FROM sqlite_master"))
    if "cancelled" not in tables["execution"]:
        _apply(db, "cancelled.sql")
    if "execution_workflow" not in tables or "cancelled" not in tables["execution"]:
        _apply(db, "master.sql")
    for name, script in _ADDED.items():
        if name not in tables:
            _apply(db, script)


def _apply(db: sqlite3.Connection, name: str) -> None:
    script = resources.files("onward.adapters.sqlite").joinpath(f"sql/{name}").read_text()
    db.executescript(f"BEGIN; {script} COMMIT;")


def _write_runs(db: sqlite3.Connection, batch: JournalCommit) -> None:
    if batch.definitions:
        db.executemany("INSERT OR IGNORE INTO definition VALUES (?, ?, ?)", batch.definitions)
    if batch.started:
        db.executemany(
            "INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms)"
            " VALUES (?, ?, ?, 'running', ?)",
            [
                (one.execution_id, one.workflow_id, one.definition_ref, one.started_ms)
                for one in batch.started
            ],
        )
    if batch.payloads:
        db.executemany(
            "INSERT OR IGNORE INTO payload VALUES (?, ?, ?)",
            [(one, payload.ref.hash, bytes(payload.body)) for one, payload in batch.payloads],
        )
    if batch.node_runs:
        db.executemany(
            "INSERT INTO node_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_node_run, batch.node_runs),
        )
        db.executemany(
            "INSERT INTO node_log (execution_id, node_id, attempt, lineage, lines)"
            " VALUES (?, ?, ?, ?, ?)",
            [_node_log(run) for run in batch.node_runs if run.log],
        )
    if batch.events:
        db.executemany("INSERT INTO event VALUES (?, ?, ?)", batch.events)
    for one in batch.ended:
        # A terminal state is final: the row changes only while it still runs.
        db.execute(
            "UPDATE execution SET status = ?, ended_ms = ?, completion = ?"
            " WHERE execution_id = ? AND status = 'running'",
            (one.status, one.ended_ms, one.completion, one.execution_id),
        )
    if batch.quarantined:
        db.executemany(
            "INSERT INTO quarantine (execution_id, reason, body, at_ms) VALUES (?, ?, ?, ?)",
            [(one.execution_id, one.reason, one.body, one.at_ms) for one in batch.quarantined],
        )


def _node_run(run: VisitRecord) -> tuple[Any, ...]:
    return (
        run.execution_id,
        run.token_id,
        run.node_id,
        run.status,
        run.attempt,
        run.at_ms,
        run.duration_ms,
        msgspec.json.encode(run.lineage) if run.lineage else None,
        bytes(run.output) if run.output is not None else None,
        msgspec.json.encode(run.output_ref) if run.output_ref else None,
        run.error,
    )


def _node_log(run: VisitRecord) -> tuple[Any, ...]:
    lineage = msgspec.json.encode(run.lineage) if run.lineage else None
    return (run.execution_id, run.node_id, run.attempt, lineage, write_lines(run.log))


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
    for one in batch.ended:
        db.execute("DELETE FROM message WHERE execution_id = ?", (one.execution_id,))
        db.execute("DELETE FROM timer WHERE execution_id = ?", (one.execution_id,))
        db.execute("DELETE FROM cell WHERE execution_id = ?", (one.execution_id,))


_conforms: type[Journal] = SqliteJournal
