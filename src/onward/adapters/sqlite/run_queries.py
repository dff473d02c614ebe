"""Reading runs in pages from the file of the journal, while an engine writes it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from onward.adapters.sql.rows import read_visit
from onward.adapters.sqlite.connection import SqliteConnection, transaction
from onward.adapters.sqlite.rows import VISITS, SqliteReader
from onward.errors import InputError, StorageError
from onward.kernel.context import Ref
from onward.kernel.lineage import Lineage
from onward.kernel.records import Definition, QuarantineRecord, RunRecord, VisitRecord
from onward.kernel.run_events import RunEvent, read_event
from onward.ports.storage.run_queries import (
    EventQuery,
    ItemTotals,
    NodeTotals,
    PlacedEvent,
    PlacedEventPage,
    PlacedVisit,
    RunQueries,
    RunQuery,
    StartKey,
    StoredLines,
    VisitQuery,
    inside_item,
    inside_split,
    newest,
)

_lineage = msgspec.json.Decoder(Lineage)

_RUNS = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms
FROM execution
WHERE (started_ms, execution_id) < (?, ?) AND started_ms BETWEEN ? AND ?
  AND (?5 = '' OR workflow_id = ?5)
  AND (?6 = '[]' OR status IN (SELECT value FROM json_each(?6)))
  AND (?7 = '' OR instr(execution_id, ?7) > 0)
  AND (?8 = '' OR execution_id IN (SELECT execution_id FROM run_origin WHERE trigger_id = ?8))
ORDER BY started_ms DESC, execution_id DESC LIMIT ?9
"""
_PARKED_RUNS = _RUNS.replace("FROM execution", "FROM parked_run")
_OUTPUT = f"{VISITS} WHERE execution_id = ? AND token_id = ? AND node_id = ?"
_TOTALS = """
SELECT node_id, status, count(*), min(at_ms - duration_ms), max(at_ms), sum(duration_ms)
FROM node_run WHERE execution_id = ? GROUP BY node_id, status ORDER BY min(rowid)
"""
# ITEM(one) names an item, in the words of the index node_run_item.
_ITEMS = """
WITH first AS MATERIALIZED (
  SELECT rowid AS place, lineage, ITEM(one) AS item FROM node_run AS one
  WHERE execution_id = ?1 AND rowid > ?3
    AND lineage IS NOT NULL AND instr(lineage, ?2) > 0
    AND NOT EXISTS (
      SELECT 1 FROM node_run AS earlier
      WHERE earlier.execution_id = ?1 AND earlier.lineage IS NOT NULL
        AND ITEM(earlier) = ITEM(one) AND earlier.rowid < one.rowid)
  ORDER BY rowid LIMIT ?4)
SELECT place, first.lineage, count(*), sum(status = 'failed'), max(at_ms)
FROM first CROSS JOIN node_run AS inside
  ON inside.execution_id = ?1 AND inside.lineage IS NOT NULL AND ITEM(inside) = first.item
GROUP BY place ORDER BY place
"""
_ITEMS = re.sub(
    r"ITEM\((\w+)\)",
    r"(json_extract(CAST(\1.lineage AS TEXT), '$[#-1].split_token')"
    r" || '/' || json_extract(CAST(\1.lineage AS TEXT), '$[#-1].item_index'))",
    _ITEMS,
)
_EVENTS = "SELECT body FROM event WHERE execution_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_LAST_PLACE = "SELECT coalesce(max(place), 0) FROM event_place"
_ALL_EVENTS = """
SELECT place, execution_id, workflow_id, body
FROM event_place JOIN event USING (execution_id, seq) JOIN execution USING (execution_id)
WHERE place > ?1 AND place <= ?2
  AND (?3 = '' OR workflow_id = ?3)
  AND (?4 = '[]' OR execution_id IN (SELECT value FROM json_each(?4)))
ORDER BY place LIMIT ?5
"""
_LINES = """
SELECT place, node_id, attempt, lineage, lines FROM node_log
WHERE execution_id = ?1 AND place > ?2 AND (?3 = '' OR node_id = ?3)
ORDER BY place LIMIT ?4
"""
_COUNTS = """
SELECT workflow_id, status, count(*) FROM execution WHERE started_ms >= ?
GROUP BY workflow_id, status
"""


class SqliteRunQueries:
    """An `Archive` of the runs of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
        self._file = file

    async def run(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        found = await self._begun(execution_id)
        if found is not None:
            return found
        rows = await self._rows("SELECT * FROM parked_run WHERE execution_id = ?", execution_id)
        # It may have begun between the two looks.
        return _listed(rows[0]) if rows else await self._begun(execution_id)

    async def _begun(self, execution_id: str) -> RunRecord | None:
        return await self._file.do(lambda db: SqliteReader(db).execution(execution_id))

    async def runs(self, query: RunQuery) -> list[RunRecord]:
        """Return a page of runs, newest first."""
        values = (
            *query.before,
            query.from_ms,
            query.until_ms,
            query.workflow_id,
            msgspec.json.encode(query.statuses).decode(),
            query.containing,
            query.trigger_id,
            query.limit,
        )
        parked = await self._rows(_PARKED_RUNS, *values)  # first: what then begins is in both
        begun = await self._rows(_RUNS, *values)
        return newest(map(_listed, parked), map(_listed, begun), query.limit)

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        return await self._file.do(lambda db: SqliteReader(db).definition(ref))

    async def visits(self, query: VisitQuery) -> list[PlacedVisit]:
        """Return a page of visits in the order they were recorded."""
        needles = [inside_item(query.execution_id, *one) for one in query.within]
        inside = "".join(" AND lineage IS NOT NULL AND instr(lineage, ?) > 0" for _ in needles)
        statement = (
            f"{VISITS} WHERE execution_id = ? AND rowid > ?"
            f" AND (? = '' OR node_id = ?) AND (? = '' OR status = ?){inside}"
            " ORDER BY rowid LIMIT ?"
        )
        node, status = query.node_id, query.status
        values = (query.execution_id, query.after, node, node, status, status)
        rows = await self._rows(statement, *values, *needles, query.limit)
        return [PlacedVisit(row[-1], read_visit(row)) for row in rows]

    async def totals(self, execution_id: str) -> list[NodeTotals]:
        """Return what the nodes of a run came to."""
        return [
            NodeTotals(
                node_id=node,
                status=status,
                visits=visits,
                first_ms=first_ms,
                last_ms=last_ms,
                busy_ms=busy_ms,
            )
            for node, status, visits, first_ms, last_ms, busy_ms in await self._rows(
                _TOTALS, execution_id
            )
        ]

    async def items(
        self, execution_id: str, split: str, *, after: int, limit: int
    ) -> list[ItemTotals]:
        """Return a page of the items of a split, in the order they were first heard of."""
        rows = await self._rows(_ITEMS, execution_id, inside_split(split), after, limit)
        return [
            ItemTotals(
                place=place,
                lineage=_lineage.decode(lineage),
                visits=visits,
                failed=failed,
                last_ms=last_ms,
            )
            for place, lineage, visits, failed, last_ms in rows
        ]

    async def output(self, execution_id: str, token_id: str, node_id: str) -> VisitRecord | None:
        """Return one visit."""
        rows = await self._rows(_OUTPUT, execution_id, token_id, node_id)
        return read_visit(rows[0]) if rows else None

    async def payload(self, execution_id: str, content: str) -> bytes | None:
        """Return a stored payload by its hash."""
        try:
            return await self._file.do(
                lambda db: SqliteReader(db).payload(execution_id, Ref(content, 0))
            )
        except StorageError as problem:
            if problem.__cause__ is not None:
                raise
            return None

    async def events(self, execution_id: str, *, after: int, limit: int) -> list[RunEvent]:
        """Return the events after a number."""
        rows = await self._rows(_EVENTS, execution_id, after, limit)
        return [read_event(row[0]) for row in rows]

    async def last_event(self, execution_id: str) -> int:
        """Return the number of the last event of a run."""
        return await self._file.do(lambda db: SqliteReader(db).last_event(execution_id))

    async def all_events(self, query: EventQuery, *, after: int, limit: int) -> PlacedEventPage:
        """Return events of all runs after a place."""
        last = await self.last_place()
        runs = msgspec.json.encode(query.runs).decode()
        values = (after, last, query.workflow_id, runs, limit)
        rows = await self._rows(_ALL_EVENTS, *values) if last > after else []
        found = [
            PlacedEvent(place, run, workflow, read_event(body))
            for place, run, workflow, body in rows
        ]
        return PlacedEventPage(found, found[-1].place if len(found) == limit else max(after, last))

    async def last_place(self) -> int:
        """Return the place of the last event of all."""
        return int((await self._rows(_LAST_PLACE))[0][0])

    async def lines(
        self, execution_id: str, *, node_id: str, after: int, limit: int
    ) -> list[StoredLines]:
        """Return what visits after a place wrote to the log."""
        rows = await self._rows(_LINES, execution_id, after, node_id, limit)
        return [
            StoredLines(place, node, attempt, _lineage.decode(stack) if stack else (), lines)
            for place, node, attempt, stack, lines in rows
        ]

    async def counts(self, since_ms: int) -> Mapping[tuple[str, str], int]:
        """Return how many runs there are of each workflow and status."""
        rows = await self._rows(_COUNTS, since_ms)
        return {(workflow, status): many for workflow, status, many in rows}

    async def claim_key(self, key: str, wanted: StartKey, at_ms: int) -> StartKey:
        """Note what a key stands for, unless it is known; return what it stands for."""

        def work(db: sqlite3.Connection) -> StartKey:
            with transaction(db):
                values = (key, *wanted, at_ms)
                db.execute("INSERT OR IGNORE INTO start_key VALUES (?, ?, ?, ?)", values)
                query = "SELECT execution_id, fingerprint FROM start_key WHERE key = ?"
                return StartKey(*db.execute(query, (key,)).fetchone())

        return await self._file.do(work)

    async def drop_keys(self, before_ms: int) -> None:
        """Forget keys that were claimed before a moment."""
        await self._rows("DELETE FROM start_key WHERE at_ms < ?", before_ms)

    async def due_timers(self, limit: int) -> list[tuple[str, str, int]]:
        """Return the timers of all runs that are due first: run, timer, time."""
        query = "SELECT execution_id, timer_id, due_ms FROM timer ORDER BY due_ms LIMIT ?"
        return [(run, timer, due) for run, timer, due in await self._rows(query, limit)]

    async def queued(self) -> int:
        """Return how many tokens wait or are in hand."""
        return int((await self._rows("SELECT count(*) FROM message"))[0][0])

    async def aside(self) -> list[QuarantineRecord]:
        """Return what is in quarantine, oldest first."""
        return await self._file.do(lambda db: SqliteReader(db).quarantine())

    async def drop_aside(
        self, numbers: Collection[int] | None
    ) -> list[tuple[int, QuarantineRecord]]:
        """Drop what stands at these places in quarantine (None: all), all of it or nothing."""

        def work(db: sqlite3.Connection) -> list[tuple[int, QuarantineRecord]]:
            with transaction(db):
                rows = [seq for (seq,) in db.execute("SELECT seq FROM quarantine ORDER BY seq")]
                found = list(enumerate(SqliteReader(db).quarantine(), 1))
                wanted = range(1, len(rows) + 1) if numbers is None else sorted(set(numbers))
                if any(not 1 <= number <= len(rows) for number in wanted):
                    there = f"it holds {len(rows)}" if rows else "it is empty"
                    named = ", ".join(str(one) for one in wanted if not 1 <= one <= len(rows))
                    raise InputError(f"there is no message {named} in quarantine: {there}")
                gone = [(rows[number - 1],) for number in wanted]
                db.executemany("DELETE FROM quarantine WHERE seq = ?", gone)
                return [found[number - 1] for number in wanted]

        return await self._file.do(work)

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._file.do(lambda db: db.execute(statement, values).fetchall())


def _listed(row: tuple[Any, ...]) -> RunRecord:
    return RunRecord(
        execution_id=row[0],
        workflow_id=row[1],
        definition_ref=row[2],
        status=row[3],
        started_ms=row[4],
        ended_ms=row[5],
    )


_conforms: type[RunQueries] = SqliteRunQueries
