"""Runs in pages, from tables.

The two databases order visits and events by different columns and search bytes in different words:
`SqliteRunQueries` and `PostgresRunQueries` bring those statements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from onward.adapters.sql.database import Row, SqlDatabase, Steps
from onward.adapters.sql.rows import read_lineage, read_run, read_struct, read_visit
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.kernel.run_events import RunEvent, read_event
from onward.ports.storage.run_queries import (
    EventQuery,
    ItemTotals,
    NodeTotals,
    PlacedEvent,
    PlacedEventPage,
    PlacedVisit,
    RunQuery,
    StartKey,
    StoredLines,
    VisitQuery,
    inside_item,
    inside_split,
    newest,
)

DEFINITION = "SELECT ref, workflow_id, source FROM definition WHERE ref = $1"
PAYLOAD = "SELECT body FROM payload WHERE execution_id = $1 AND hash = $2"

_RUNS = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms
FROM execution
WHERE (started_ms, execution_id) < ($1, $2)
  AND started_ms BETWEEN $3 AND $4
  AND ($5 = '' OR workflow_id = $5)
  AND ($6 OR status = ANY ($7::text[]))
  AND ($8 = '' OR strpos(execution_id, $8) > 0)
  AND ($9 = '' OR execution_id IN (SELECT execution_id FROM run_origin WHERE trigger_id = $9))
ORDER BY started_ms DESC, execution_id DESC LIMIT $10
"""
_PARKED_RUNS = _RUNS.replace("FROM execution", "FROM parked_run")
_PARKED_RUN = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms
FROM parked_run WHERE execution_id = $1
"""
_EVENTS = "SELECT body FROM event WHERE execution_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
_LAST_EVENT = "SELECT coalesce(max(seq), 0) FROM event WHERE execution_id = $1"
_COUNTS = """
SELECT workflow_id, status, count(*) FROM execution WHERE started_ms >= $1
GROUP BY workflow_id, status
"""
_CLAIM_KEY = """
INSERT INTO start_key (key, execution_id, fingerprint, at_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (key) DO NOTHING
"""
_KEY = "SELECT execution_id, fingerprint FROM start_key WHERE key = $1"
_DROP_KEYS = "DELETE FROM start_key WHERE at_ms < $1"


class TableRunQueries(ABC):
    """`RunQueries` in a database, but for the statements that the two write differently."""

    RUN: ClassVar[str]
    """The columns of a run, in the order of `RunRecord`."""
    VISIT: ClassVar[str]
    """One visit by its run, token and node; its columns as `read_visit` reads them."""
    TOTALS: ClassVar[str]
    """The columns of `NodeTotals`, of a run."""
    ITEMS: ClassVar[str]
    """The columns of `ItemTotals`, of a run: split, place of the last one, limit."""
    LAST_PLACE: ClassVar[str]
    ALL_EVENTS: ClassVar[str]
    """Place, run, workflow and event: after and up to a place, of a workflow, of any or of some
    runs, limit."""
    LINES: ClassVar[str]
    """The columns of `StoredLines`: of a run, after a place, of a node, limit."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    @abstractmethod
    async def _visits(self, query: VisitQuery, needles: list[bytes]) -> list[Row]:
        """Return visits with their places last, whose lineages contain all needles."""

    async def run(self, execution_id: str) -> RunRecord | None:
        # It may begin after the first question and before the second: then the third finds it.
        for statement in (self.RUN, _PARKED_RUN, self.RUN):
            for row in await self._tables.rows(statement, execution_id):
                return read_run(row)
        return None

    async def runs(self, query: RunQuery) -> list[RunRecord]:
        values = (
            *query.before,
            query.from_ms,
            query.until_ms,
            query.workflow_id,
            not query.statuses,
            list(query.statuses),
            query.containing,
            query.trigger_id,
            query.limit,
        )
        parked = await self._tables.rows(
            _PARKED_RUNS, *values
        )  # first: what then begins is in both
        begun = await self._tables.rows(_RUNS, *values)
        return newest(map(read_run, parked), map(read_run, begun), query.limit)

    async def definition(self, ref: str) -> Definition | None:
        rows = await self._tables.rows(DEFINITION, ref)
        return Definition(*rows[0]) if rows else None

    async def visits(self, query: VisitQuery) -> list[PlacedVisit]:
        needles = [inside_item(query.execution_id, *item) for item in query.within]
        rows = await self._visits(query, needles)
        return [PlacedVisit(row[-1], read_visit(row)) for row in rows]

    async def totals(self, execution_id: str) -> list[NodeTotals]:
        rows = await self._tables.rows(self.TOTALS, execution_id)
        return [read_struct(NodeTotals, row) for row in rows]

    async def items(
        self, execution_id: str, split: str, *, after: int, limit: int
    ) -> list[ItemTotals]:
        needle = inside_split(split)
        rows = await self._tables.rows(self.ITEMS, execution_id, needle, after, limit)
        return [
            ItemTotals(
                place=place,
                lineage=read_lineage(lineage),
                visits=visits,
                failed=failed,
                last_ms=last_ms,
            )
            for place, lineage, visits, failed, last_ms in rows
        ]

    async def output(self, execution_id: str, token_id: str, node_id: str) -> VisitRecord | None:
        rows = await self._tables.rows(self.VISIT, execution_id, token_id, node_id)
        return read_visit(rows[0]) if rows else None

    async def payload(self, execution_id: str, content: str) -> bytes | None:
        rows = await self._tables.rows(PAYLOAD, execution_id, content)
        return bytes(rows[0][0]) if rows else None

    async def events(self, execution_id: str, *, after: int, limit: int) -> list[RunEvent]:
        rows = await self._tables.rows(_EVENTS, execution_id, after, limit)
        return [read_event(body) for (body,) in rows]

    async def last_event(self, execution_id: str) -> int:
        ((seq,),) = await self._tables.rows(_LAST_EVENT, execution_id)
        return int(seq)

    async def all_events(self, query: EventQuery, *, after: int, limit: int) -> PlacedEventPage:
        last = await self.last_place()
        values = (after, last, query.workflow_id, not query.runs, list(query.runs), limit)
        rows = await self._tables.rows(self.ALL_EVENTS, *values) if last > after else []
        events = [
            PlacedEvent(place, execution_id, workflow_id, read_event(body))
            for place, execution_id, workflow_id, body in rows
        ]
        upto = events[-1].place if len(events) == limit else max(after, last)
        return PlacedEventPage(events, upto)

    async def last_place(self) -> int:
        ((place,),) = await self._tables.rows(self.LAST_PLACE)
        return int(place)

    async def lines(
        self, execution_id: str, *, node_id: str, after: int, limit: int
    ) -> list[StoredLines]:
        rows = await self._tables.rows(self.LINES, execution_id, after, node_id, limit)
        return [
            StoredLines(place, node, attempt, read_lineage(lineage), lines)
            for place, node, attempt, lineage, lines in rows
        ]

    async def counts(self, since_ms: int) -> Mapping[tuple[str, str], int]:
        rows = await self._tables.rows(_COUNTS, since_ms)
        return {(workflow_id, status): count for workflow_id, status, count in rows}

    async def claim_key(self, key: str, wanted: StartKey, at_ms: int) -> StartKey:
        def steps() -> Steps[StartKey]:
            yield _CLAIM_KEY, (key, *wanted, at_ms)
            for row in (yield _KEY, (key,)):
                return StartKey(*row)
            return wanted

        return await self._tables.transact(steps())

    async def drop_keys(self, before_ms: int) -> None:
        await self._tables.rows(_DROP_KEYS, before_ms)
