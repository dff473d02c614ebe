"""Runs in pages, from the file of the journal, while an engine writes it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection

from onward.adapters.sql.database import Row
from onward.adapters.sql.run_queries import TableRunQueries
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase, transaction
from onward.adapters.sqlite.rows import VISITS, SqliteReader
from onward.errors import InputError
from onward.kernel.records import QuarantineRecord
from onward.ports.storage.run_queries import RunQueries, VisitQuery

_TIMERS = "SELECT execution_id, timer_id, due_ms FROM timer ORDER BY due_ms LIMIT $1"
# ITEM(visit) names the item of a visit, in the words of the index node_run_item.
_ITEMS = """
WITH first AS MATERIALIZED (
  SELECT rowid AS place, lineage, ITEM(visit) AS item FROM node_run AS visit
  WHERE execution_id = $1 AND rowid > $3
    AND lineage IS NOT NULL AND instr(lineage, $2) > 0
    AND NOT EXISTS (
      SELECT 1 FROM node_run AS earlier
      WHERE earlier.execution_id = $1 AND earlier.lineage IS NOT NULL
        AND ITEM(earlier) = ITEM(visit) AND earlier.rowid < visit.rowid)
  ORDER BY rowid LIMIT $4)
SELECT place, first.lineage, count(*), sum(status = 'failed'), max(at_ms)
FROM first CROSS JOIN node_run AS inside
  ON inside.execution_id = $1 AND inside.lineage IS NOT NULL AND ITEM(inside) = first.item
GROUP BY place ORDER BY place
"""


class SqliteRunQueries(TableRunQueries):
    """The `RunQueries` of an embedded engine, and what else its journal holds."""

    RUN = """
    SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion
    FROM execution WHERE execution_id = $1
    """
    VISIT = f"{VISITS} WHERE execution_id = $1 AND token_id = $2 AND node_id = $3"
    TOTALS = """
    SELECT node_id, status, count(*), min(at_ms - duration_ms), max(at_ms), sum(duration_ms)
    FROM node_run WHERE execution_id = $1 GROUP BY node_id, status ORDER BY min(rowid)
    """
    ITEMS = re.sub(
        r"ITEM\((\w+)\)",
        r"(json_extract(CAST(\1.lineage AS TEXT), '$[#-1].split_token')"
        r" || '/' || json_extract(CAST(\1.lineage AS TEXT), '$[#-1].item_index'))",
        _ITEMS,
    )
    LAST_PLACE = "SELECT coalesce(max(place), 0) FROM event_place"
    ALL_EVENTS = """
    SELECT place, execution_id, workflow_id, body
    FROM event_place JOIN event USING (execution_id, seq) JOIN execution USING (execution_id)
    WHERE place > $1 AND place <= $2
      AND ($3 = '' OR workflow_id = $3)
      AND ($4 OR execution_id = ANY ($5::text[]))
    ORDER BY place LIMIT $6
    """
    LINES = """
    SELECT place, node_id, attempt, lineage, lines FROM node_log
    WHERE execution_id = $1 AND place > $2 AND ($3 = '' OR node_id = $3)
    ORDER BY place LIMIT $4
    """

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__(SqliteDatabase(connection))
        self._connection = connection

    async def _visits(self, query: VisitQuery, needles: list[bytes]) -> list[Row]:
        inside = "".join(
            f" AND lineage IS NOT NULL AND instr(lineage, ${number}) > 0"
            for number in range(6, 6 + len(needles))
        )
        statement = (
            f"{VISITS} WHERE execution_id = $1 AND rowid > $2"
            f" AND ($3 = '' OR node_id = $3) AND ($4 = '' OR status = $4){inside}"
            " ORDER BY rowid LIMIT $5"
        )
        values = (query.execution_id, query.after, query.node_id, query.status, query.limit)
        return await self._tables.rows(statement, *values, *needles)

    async def due_timers(self, limit: int) -> list[tuple[str, str, int]]:
        """Return the timers of all runs that are due first: run, timer, time."""
        rows = await self._tables.rows(_TIMERS, limit)
        return [(execution_id, timer_id, due_ms) for execution_id, timer_id, due_ms in rows]

    async def queued(self) -> int:
        """Return how many tokens are waiting or being handled."""
        ((count,),) = await self._tables.rows("SELECT count(*) FROM message")
        return int(count)

    async def quarantine(self) -> list[QuarantineRecord]:
        """Return the messages in quarantine, oldest first."""
        return await self._connection.do(lambda db: SqliteReader(db).quarantine())

    async def drop_quarantine(
        self, numbers: Collection[int] | None
    ) -> list[tuple[int, QuarantineRecord]]:
        """Drop the messages at these places in quarantine (None: all), all of them or none."""

        def work(db: sqlite3.Connection) -> list[tuple[int, QuarantineRecord]]:
            with transaction(db):
                rows = [seq for (seq,) in db.execute("SELECT seq FROM quarantine ORDER BY seq")]
                found = list(enumerate(SqliteReader(db).quarantine(), 1))
                wanted = range(1, len(rows) + 1) if numbers is None else sorted(set(numbers))
                unknown = [str(number) for number in wanted if not 1 <= number <= len(rows)]
                if unknown:
                    there = f"it holds {len(rows)}" if rows else "it is empty"
                    named = ", ".join(unknown)
                    raise InputError(f"there is no message {named} in quarantine: {there}")
                gone = [(rows[number - 1],) for number in wanted]
                db.executemany("DELETE FROM quarantine WHERE seq = ?", gone)
                return [found[number - 1] for number in wanted]

        return await self._connection.do(work)


_conforms: type[RunQueries] = SqliteRunQueries
