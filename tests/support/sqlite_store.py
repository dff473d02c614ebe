"""Definitions and history of many runs in one SQLite file: the store without a server.

The connection lives in one thread, so callers never wait for the disk and writes never overlap.
Other processes may use the same file at the same time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from onward.adapters.sqlite.rows import SqliteReader
from onward.errors import StorageError
from onward.kernel.history import HistoryEntries, check_run_filter, entries_of
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.ports.storage.history_store import HistoryStore, Silence

SCHEMA_VERSION = 1
APPLICATION_ID = 0x77656673  # "wefs": a store is not a journal
PRUNED_AT_ONCE = 200
"""Runs in one transaction of `prune`: other writers get their turn in between."""

T = TypeVar("T")


async def open_store(path: Path) -> SqliteStore:
    """Open or create the file; StorageError when it cannot be, or is another program's."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="onward-store")
    try:
        db = await asyncio.get_running_loop().run_in_executor(thread, _opened, path)
    except BaseException:
        thread.shutdown(wait=False)
        raise
    return SqliteStore(path, db, thread)


class SqliteStore:
    """A `Store` in a file of its own; `open_store` makes one."""

    def __init__(self, path: Path, db: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._path = path
        self._db = db
        self._thread = thread
        self._reader = SqliteReader(db)

    async def close(self) -> None:
        """Wait for what is under way, and close the file."""
        await self._do(self._db.close)
        self._thread.shutdown()

    async def save_definition(self, definition: Definition) -> None:
        """Keep a definition; the first of its address stands."""
        await self._do(lambda: self._db.execute(_SAVE_DEFINITION, definition))

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        return await self._do(lambda: self._reader.definition(ref))

    async def begin(
        self, execution: RunRecord, start: bytes = b"", kept: Sequence[VisitRecord] = ()
    ) -> bool:
        """Note that a run starts: True once for each id, also when messages of it came before."""
        values = (
            execution.execution_id,
            execution.workflow_id,
            execution.definition_ref,
            execution.started_ms,
            start,
            execution.started_ms,
        )
        return await self._do(lambda: _begin(self._db, values, kept))

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        """Fold a batch in one transaction; MessageError, and nothing written, for a bad message."""
        entries = entries_of(statuses, completions)
        if entries.sightings:
            await self._do(lambda: _fold(self._db, entries))

    async def execution(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        found = await self._do(lambda: _listed(self._db.execute(_EXECUTION, (execution_id,))))
        return found[0] if found else None

    async def executions(self, *, status: str | None = None, limit: int = 100) -> list[RunRecord]:
        """Return runs, newest first."""
        check_run_filter(status, limit)
        if status is None:
            return await self._do(lambda: _listed(self._db.execute(_NEWEST, (limit,))))
        return await self._do(lambda: _listed(self._db.execute(_NEWEST_OF_STATUS, (status, limit))))

    async def node_runs(self, execution_id: str) -> list[VisitRecord]:
        """Return what the nodes of a run came to, in the order it was recorded."""
        return await self._do(lambda: list(self._reader.node_runs(execution_id)))

    async def quiet(self, before_ms: int, *, after: str = "", limit: int = 100) -> list[Silence]:
        """Return runs that have not ended and of which nothing was heard since a moment."""
        check_run_filter(None, limit)
        values = (before_ms, after, limit)
        return await self._do(lambda: _silent(self._db.execute(_QUIET, values)))

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with; b"" if none are known."""
        query = "SELECT start FROM execution WHERE execution_id = ?"
        row = await self._do(lambda: self._db.execute(query, (execution_id,)).fetchone())
        return bytes(row[0]) if row and row[0] is not None else b""

    async def regenerate(self, execution_id: str, generation: int, now_ms: int) -> bool:
        """Make the next generation of a run its own, once."""
        values = (now_ms, execution_id, generation)
        return await self._do(lambda: self._db.execute(_REGENERATE, values).rowcount == 1)

    async def prune(self, before_ms: int) -> int:
        """Drop runs that ended before a moment, some at a time; say how many.

        A message that comes after its run was dropped makes the run known again: keep history for
        longer than a message can be late.
        """
        dropped = 0
        while some := await self._do(lambda: _prune_some(self._db, before_ms)):
            dropped += some
        return dropped

    async def _do(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.Error as problem:
            raise StorageError(f"the store {self._path} refuses: {problem}") from problem


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    except OSError as problem:
        raise StorageError(f"cannot create {path.parent}: {problem.strerror}") from None
    except sqlite3.Error as problem:
        raise StorageError(f"cannot open the store {path}: {problem}") from None
    try:
        _prepare(db, path)
    except sqlite3.Error as problem:
        db.close()
        raise StorageError(f"{path} is not a usable store of onward: {problem}") from None
    except StorageError:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    # The tables first: another process may be creating them, and stamps the file in that commit.
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID and (application or tables):
        raise StorageError(f"{path} is not a store of onward but another database: choose another")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path} has schema version {version}, this onward knows {SCHEMA_VERSION}: upgrade "
            "onward"
        )
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    if application != APPLICATION_ID:
        schema = Path(__file__).with_suffix(".sql").read_text()
        stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
        db.executescript(f"BEGIN IMMEDIATE; {schema} {stamp} COMMIT;")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise


def _begin(db: sqlite3.Connection, values: tuple[object, ...], kept: Sequence[VisitRecord]) -> bool:
    with _transaction(db):
        begun = db.execute(_BEGIN, values).rowcount == 1
        if begun:
            db.executemany(_RECORD, map(_row, kept))
    return begun


def _fold(db: sqlite3.Connection, entries: HistoryEntries) -> None:
    with _transaction(db):
        db.executemany(_SEE, entries.sightings)
        db.executemany(_RECORD, map(_row, entries.visits))
        db.executemany(
            _END, [(e.status, e.ended_ms, e.completion, e.execution_id) for e in entries.endings]
        )


def _prune_some(db: sqlite3.Connection, before_ms: int) -> int:
    with _transaction(db):
        expired = db.execute(_EXPIRED, (before_ms, PRUNED_AT_ONCE)).fetchall()
        db.executemany("DELETE FROM node_run WHERE execution_id = ?", expired)
        db.executemany("DELETE FROM execution WHERE execution_id = ?", expired)
    return len(expired)


def _row(run: VisitRecord) -> tuple[Any, ...]:
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


def _silent(rows: sqlite3.Cursor) -> list[Silence]:
    names = [column[0] for column in rows.description]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [Silence(heard_ms=one.pop("heard_ms"), execution=RunRecord(**one)) for one in found]


def _listed(rows: sqlite3.Cursor) -> list[RunRecord]:
    names = [column[0] for column in rows.description]
    return [RunRecord(**dict(zip(names, row, strict=True))) for row in rows]


_SAVE_DEFINITION = "INSERT INTO definition VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

# A run that was only seen so far is begun now, and what its ending says stays.
_BEGIN = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, begun,
                       start, heard_ms)
VALUES (?, ?, ?, 'running', ?, 1, ?, ?)
ON CONFLICT (execution_id) DO UPDATE
SET workflow_id = excluded.workflow_id, definition_ref = excluded.definition_ref,
    started_ms = excluded.started_ms, begun = 1, start = excluded.start
WHERE NOT begun
"""

_SEE = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, begun,
                       heard_ms)
VALUES (?, ?, '', 'running', ?, 0, ?)
ON CONFLICT (execution_id) DO UPDATE
SET started_ms = CASE WHEN begun THEN started_ms ELSE min(started_ms, excluded.started_ms) END,
    heard_ms = max(heard_ms, excluded.heard_ms)
WHERE NOT begun AND excluded.started_ms < started_ms OR excluded.heard_ms > heard_ms + 10000
"""

_RECORD = """
INSERT INTO node_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (execution_id, token_id, node_id) DO NOTHING
"""

# A terminal state is final: the row changes only while it still runs.
_END = """
UPDATE execution SET status = ?, ended_ms = ?, completion = ?
WHERE execution_id = ? AND status = 'running'
"""

_EXECUTION = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution WHERE execution_id = ?
"""

_NEWEST = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution ORDER BY started_ms DESC, execution_id DESC LIMIT ?
"""

_NEWEST_OF_STATUS = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution WHERE status = ? ORDER BY started_ms DESC, execution_id DESC LIMIT ?
"""

_QUIET = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation, heard_ms
FROM execution WHERE status = 'running' AND heard_ms < ? AND execution_id > ?
ORDER BY execution_id LIMIT ?
"""

_REGENERATE = """
UPDATE execution SET generation = generation + 1, heard_ms = ?
WHERE execution_id = ? AND generation = ? AND status = 'running'
"""

_EXPIRED = "SELECT execution_id FROM execution WHERE ended_ms < ? ORDER BY ended_ms LIMIT ?"

_conforms: type[HistoryStore] = SqliteStore
