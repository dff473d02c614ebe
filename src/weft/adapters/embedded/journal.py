"""The journal in one SQLite file: write-ahead log, one writer, every batch one transaction.

`synchronous=FULL` makes a commit survive the loss of power, not only of the process. Because many
handled tokens share a commit, its cost is shared too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from weft.adapters.embedded.lock import Lock
from weft.errors import StorageError
from weft.kernel.context import Ref
from weft.kernel.lineage import Lineage
from weft.kernel.messages import encode_message
from weft.ports.journal import (
    Batch,
    CellChanges,
    Definition,
    Execution,
    Journal,
    NodeRun,
    Quarantined,
)

SCHEMA_VERSION = 1
APPLICATION_ID = 0x77656674  # "weft"

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_lineage = msgspec.json.Decoder(Lineage)
_ref = msgspec.json.Decoder(Ref)


class SqliteJournal:
    """A `Journal` in a file of its own."""

    def __init__(self, path: Path) -> None:
        self._lock = Lock(_prepared(path))
        try:
            self._writer = _connect(path)
            self._reader = _connect(path)
            _create(self._writer, path)
        except sqlite3.DatabaseError as problem:
            self._lock.release()
            raise StorageError(f"{path} is not a usable weft database: {problem}") from None
        except StorageError:
            self._lock.release()
            raise

    def close(self) -> None:
        """Close the file and let another process have it."""
        self._reader.close()
        self._writer.close()
        self._lock.release()

    # -- writing -------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
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
                db.execute("ROLLBACK")
                raise
        except sqlite3.Error as problem:
            raise StorageError(f"the database refused a commit: {problem}") from problem

    # -- reading -------------------------------------------------------------------------------

    def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        row = self._one("SELECT ref, workflow_id, source FROM definition WHERE ref = ?", ref)
        return Definition(*row) if row else None

    def execution(self, execution_id: str) -> Execution | None:
        """Return one run."""
        row = self._one(f"{_EXECUTIONS} WHERE execution_id = ?", execution_id)
        return _execution(row) if row else None

    def unfinished(self) -> list[Execution]:
        """Return every run that has not ended, oldest first."""
        rows = self._reader.execute(f"{_EXECUTIONS} WHERE status = 'running' ORDER BY started_ms")
        return [_execution(row) for row in rows]

    def messages(self, execution_id: str) -> Iterator[tuple[int, bytes]]:
        """Iterate over the tokens of a run that are not consumed, in the order they were sent."""
        query = "SELECT seq, body FROM message WHERE execution_id = ? ORDER BY seq"
        return iter(self._reader.execute(query, (execution_id,)).fetchall())

    def last_message(self) -> int:
        """Return the highest message number in use."""
        row = self._one("SELECT coalesce(max(seq), 0) FROM message")
        return int(row[0])

    def cells(self, execution_id: str) -> Iterator[tuple[str, str, str, Any]]:
        """Iterate over a run's coordination cells."""
        query = "SELECT grp, kind, field, value FROM cell WHERE execution_id = ?"
        for group, kind, field, value in self._reader.execute(query, (execution_id,)):
            yield group, kind, field, _unpack(value)

    def payload(self, execution_id: str, ref: Ref) -> bytes:
        """Return a stored payload."""
        query = "SELECT body FROM payload WHERE execution_id = ? AND hash = ?"
        row = self._one(query, execution_id, ref.hash)
        if row is None:
            raise StorageError(f"payload {ref.hash} of {execution_id} is not in the database")
        return bytes(row[0])

    def timers(self, execution_id: str) -> list[tuple[int, str]]:
        """Return when each timer of a run is due, and its id."""
        query = "SELECT due_ms, timer_id FROM timer WHERE execution_id = ?"
        return self._reader.execute(query, (execution_id,)).fetchall()

    def timer(self, execution_id: str, timer_id: str) -> bytes | None:
        """Return the token that a timer will send."""
        query = "SELECT body FROM timer WHERE execution_id = ? AND timer_id = ?"
        row = self._one(query, execution_id, timer_id)
        return bytes(row[0]) if row else None

    def node_runs(self, execution_id: str) -> Iterator[NodeRun]:
        """Iterate over what the nodes of a run came to, in the order it was recorded."""
        query = (
            "SELECT execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,"
            " lineage, output, output_ref, error"
            " FROM node_run WHERE execution_id = ? ORDER BY rowid"
        )
        for row in self._reader.execute(query, (execution_id,)):
            yield NodeRun(
                execution_id=row[0],
                token_id=row[1],
                node_id=row[2],
                status=row[3],
                attempt=row[4],
                at_ms=row[5],
                duration_ms=row[6],
                lineage=_lineage.decode(row[7]) if row[7] else (),
                output=msgspec.Raw(row[8]) if row[8] is not None else None,
                output_ref=_ref.decode(row[9]) if row[9] else None,
                error=row[10],
            )

    def quarantine(self) -> list[Quarantined]:
        """Return what is in quarantine, oldest first."""
        query = "SELECT execution_id, reason, body, at_ms FROM quarantine ORDER BY seq"
        return [
            Quarantined(execution_id=one, reason=reason, body=body, at_ms=at_ms)
            for one, reason, body, at_ms in self._reader.execute(query)
        ]

    def _one(self, query: str, *values: object) -> Any:
        return self._reader.execute(query, values).fetchone()


_EXECUTIONS = (
    "SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion"
    " FROM execution"
)


def _prepared(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StorageError(f"cannot create {path.parent}: {problem.strerror}") from None
    return path


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA cache_size = -65536")
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def _create(db: sqlite3.Connection, path: Path) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == SCHEMA_VERSION and application == APPLICATION_ID:
        return
    if application not in (0, APPLICATION_ID) or (tables and application != APPLICATION_ID):
        raise StorageError(f"{path} is a database of another program; choose another --db")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} has schema version {version}, this weft knows {SCHEMA_VERSION}: upgrade weft"
        )
    schema = resources.files("weft.adapters.embedded").joinpath("sql/schema.sql").read_text()
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
    db.executescript(f"BEGIN; {schema} {stamp} COMMIT;")


def _execution(row: tuple[Any, ...]) -> Execution:
    return Execution(
        execution_id=row[0],
        workflow_id=row[1],
        definition_ref=row[2],
        status=row[3],
        started_ms=row[4],
        ended_ms=row[5],
        completion=row[6],
    )


def _write_runs(db: sqlite3.Connection, batch: Batch) -> None:
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


def _node_run(run: NodeRun) -> tuple[Any, ...]:
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


def _write_tokens(db: sqlite3.Connection, batch: Batch) -> None:
    if batch.consumed:
        db.executemany("DELETE FROM message WHERE seq = ?", [(seq,) for seq in batch.consumed])
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


def _clear_ended(db: sqlite3.Connection, batch: Batch) -> None:
    """Leave nothing of a run that ended but its row, its history and its payloads."""
    for one in batch.ended:
        db.execute("DELETE FROM message WHERE execution_id = ?", (one.execution_id,))
        db.execute("DELETE FROM timer WHERE execution_id = ?", (one.execution_id,))
        db.execute("DELETE FROM cell WHERE execution_id = ?", (one.execution_id,))


_conforms: type[Journal] = SqliteJournal
