"""Retention in the file of the journal: old runs are deleted, a few at a time."""

from __future__ import annotations

import sqlite3

from onward.adapters.sqlite.connection import SqliteConnection, transaction

RUNS_AT_ONCE = 20
"""Runs in one transaction: the engine can commit in between."""

_EXPIRED = """
SELECT execution_id FROM execution WHERE ended_ms < ? ORDER BY ended_ms LIMIT ?
"""
_DELETE = (
    "DELETE FROM node_run WHERE execution_id = ?",
    "DELETE FROM node_log WHERE execution_id = ?",
    "DELETE FROM payload WHERE execution_id = ?",
    "DELETE FROM event WHERE execution_id = ?",
    "DELETE FROM event_place WHERE execution_id = ?",
    "DELETE FROM run_control WHERE execution_id = ?",
    "DELETE FROM quarantine WHERE execution_id = ?",
    "DELETE FROM execution WHERE execution_id = ?",
    "DELETE FROM flow_run WHERE execution_id = ?",
    "DELETE FROM run_signal WHERE execution_id = ?",
    "DELETE FROM listener WHERE execution_id = ?",
    "DELETE FROM run_origin WHERE execution_id = ?",
    "DELETE FROM run_link WHERE child_id = ?",
    # A child run that is still there keeps its depth; of one that never began nothing is left.
    """
    DELETE FROM run_link WHERE parent_id = ? AND NOT EXISTS (
      SELECT 1 FROM execution WHERE execution.execution_id = run_link.child_id)
    """,
)


class SqliteRetention:
    """Deletes runs that ended long ago."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    async def prune(self, before_ms: int) -> int:
        """Delete runs that ended before a moment, and return how many."""
        dropped = 0
        while some := await self._connection.do(lambda db: _prune_some(db, before_ms)):
            dropped += some
        return dropped


def _prune_some(db: sqlite3.Connection, before_ms: int) -> int:
    with transaction(db):
        expired = db.execute(_EXPIRED, (before_ms, RUNS_AT_ONCE)).fetchall()
        for statement in _DELETE if expired else ():
            db.executemany(statement, expired)
    return len(expired)
