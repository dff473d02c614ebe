"""Reading the journal: the same for the engine that writes it and for processes that only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from onward.adapters.sql.rows import read_run, read_visit
from onward.errors import StorageError
from onward.kernel.context import Ref
from onward.kernel.records import Definition, QuarantineRecord, RunRecord, VisitRecord

_unpack = msgspec.msgpack.Decoder().decode

_EXECUTIONS = (
    "SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion"
    " FROM execution"
)


VISITS = (
    "SELECT execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,"
    " lineage, output, output_ref, error, rowid FROM node_run"
)


class SqliteReader:
    """The reading half of a `Journal`, on a connection of its own."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._reader = connection

    def definition(self, ref: str) -> Definition | None:
        row = self._first("SELECT ref, workflow_id, source FROM definition WHERE ref = ?", ref)
        return Definition(*row) if row else None

    def execution(self, execution_id: str) -> RunRecord | None:
        row = self._first(f"{_EXECUTIONS} WHERE execution_id = ?", execution_id)
        return read_run(row) if row else None

    def executions(self) -> list[RunRecord]:
        rows = self._reader.execute(f"{_EXECUTIONS} ORDER BY started_ms DESC, execution_id DESC")
        return [read_run(row) for row in rows]

    def unfinished(self) -> list[RunRecord]:
        rows = self._reader.execute(f"{_EXECUTIONS} WHERE status = 'running' ORDER BY started_ms")
        return [read_run(row) for row in rows]

    def messages(self, execution_id: str) -> Iterator[tuple[int, bytes]]:
        query = "SELECT seq, body FROM message WHERE execution_id = ? ORDER BY seq"
        return iter(self._reader.execute(query, (execution_id,)).fetchall())

    def last_message(self) -> int:
        row = self._first("SELECT coalesce(max(seq), 0) FROM message")
        return int(row[0])

    def cells(self, execution_id: str) -> Iterator[tuple[str, str, str, Any]]:
        query = "SELECT grp, kind, field, value FROM cell WHERE execution_id = ?"
        for group, kind, field, value in self._reader.execute(query, (execution_id,)):
            yield group, kind, field, _unpack(value)

    def payload(self, execution_id: str, ref: Ref) -> bytes:
        query = "SELECT body FROM payload WHERE execution_id = ? AND hash = ?"
        row = self._first(query, execution_id, ref.hash)
        if row is None:
            raise StorageError(f"payload {ref.hash} of {execution_id} is not in the database")
        return bytes(row[0])

    def timers(self, execution_id: str) -> list[tuple[int, str]]:
        query = "SELECT due_ms, timer_id FROM timer WHERE execution_id = ?"
        return self._reader.execute(query, (execution_id,)).fetchall()

    def timer(self, execution_id: str, timer_id: str) -> bytes | None:
        query = "SELECT body FROM timer WHERE execution_id = ? AND timer_id = ?"
        row = self._first(query, execution_id, timer_id)
        return bytes(row[0]) if row else None

    def node_runs(self, execution_id: str) -> Iterator[VisitRecord]:
        query = f"{VISITS} WHERE execution_id = ? ORDER BY rowid"
        for row in self._reader.execute(query, (execution_id,)):
            yield read_visit(row)

    def last_event(self, execution_id: str) -> int:
        query = "SELECT coalesce(max(seq), 0) FROM event WHERE execution_id = ?"
        row = self._first(query, execution_id)
        return int(row[0])

    def quarantine(self) -> list[QuarantineRecord]:
        query = "SELECT execution_id, reason, body, at_ms FROM quarantine ORDER BY seq"
        return [
            QuarantineRecord(execution_id=name, reason=reason, body=body, at_ms=at_ms)
            for name, reason, body, at_ms in self._reader.execute(query)
        ]

    def _first(self, query: str, *values: object) -> Any:
        return self._reader.execute(query, values).fetchone()
