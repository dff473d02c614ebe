"""Reading runs in pages from PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from onward.adapters.postgres import statements
from onward.adapters.postgres.connection import PostgresConnections
from onward.adapters.postgres.rows import read_execution, read_node_run
from onward.kernel.lineage import Lineage
from onward.kernel.records import Definition, RunRecord, VisitRecord
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
WHERE (started_ms, execution_id) < ($1::bigint, $2::text)
  AND started_ms BETWEEN $3 AND $4
  AND ($5 = '' OR workflow_id = $5)
  AND (cardinality($6::text[]) = 0 OR status = ANY ($6))
  AND ($7 = '' OR strpos(execution_id, $7) > 0)
  AND ($8 = '' OR execution_id IN (SELECT execution_id FROM run_origin WHERE trigger_id = $8))
ORDER BY started_ms DESC, execution_id DESC LIMIT $9
"""
_PARKED_RUNS = _RUNS.replace("FROM execution", "FROM parked_run")
_PARKED_RUN = "SELECT * FROM parked_run WHERE execution_id = $1"
_VISIT = """
SELECT execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,
       lineage, output, output_ref, error, seq
FROM node_run
"""
_VISITS = f"""{_VISIT}
WHERE execution_id = $1 AND seq > $2
  AND ($3 = '' OR node_id = $3) AND ($4 = '' OR status = $4)
  AND NOT EXISTS (
    SELECT FROM unnest($5::bytea[]) AS needle
    WHERE lineage IS NULL OR position(needle IN lineage) = 0)
ORDER BY seq LIMIT $6
"""
_OUTPUT = f"{_VISIT} WHERE execution_id = $1 AND token_id = $2 AND node_id = $3"
_TOTALS = """
SELECT node_id, status, count(*) AS visits, min(at_ms - duration_ms)::bigint AS first_ms,
       max(at_ms) AS last_ms, sum(duration_ms)::bigint AS busy_ms
FROM node_run WHERE execution_id = $1 GROUP BY node_id, status ORDER BY min(seq)
"""
_ITEMS = """
WITH first AS (
  SELECT seq AS place, lineage FROM node_run AS one
  WHERE execution_id = $1 AND seq > $3
    AND lineage IS NOT NULL AND position($2::bytea IN lineage) > 0
    AND NOT EXISTS (
      SELECT FROM node_run AS earlier
      WHERE earlier.execution_id = $1 AND earlier.lineage IS NOT NULL
        AND md5(earlier.lineage) = md5(one.lineage) AND earlier.seq < one.seq)
  ORDER BY seq LIMIT $4)
SELECT place, first.lineage, count(*) AS visits,
       count(*) FILTER (WHERE status = 'failed') AS failed, max(at_ms) AS last_ms
FROM first JOIN node_run AS inside
  ON inside.execution_id = $1 AND inside.lineage IS NOT NULL
 AND md5(inside.lineage) = md5(first.lineage)
GROUP BY place, first.lineage ORDER BY place
"""
_EVENTS = "SELECT body FROM event WHERE execution_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
_LAST_PLACE = "SELECT coalesce(max(place), 0) FROM event"
_ALL_EVENTS = """
SELECT place, execution_id, workflow_id, body FROM event JOIN execution USING (execution_id)
WHERE place > $1 AND place <= $2
  AND ($3 = '' OR workflow_id = $3)
  AND (cardinality($4::text[]) = 0 OR execution_id = ANY ($4))
ORDER BY place LIMIT $5
"""
_LINES = """
SELECT seq, node_id, attempt, lineage, lines FROM node_log
WHERE execution_id = $1 AND seq > $2 AND ($3 = '' OR node_id = $3)
ORDER BY seq LIMIT $4
"""
_COUNTS = """
SELECT workflow_id, status, count(*) AS many FROM execution WHERE started_ms >= $1
GROUP BY workflow_id, status
"""
_CLAIM_KEY = """
INSERT INTO start_key (key, execution_id, fingerprint, at_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (key) DO NOTHING
"""


class PostgresRunQueries(PostgresConnections):
    """An `Archive` of the runs of a cluster."""

    async def run(self, execution_id: str) -> RunRecord | None:
        """Return one run."""
        async with self.connection() as db:
            row = await db.fetchrow(statements.EXECUTION, execution_id)
            if row is None:
                row = await db.fetchrow(_PARKED_RUN, execution_id)
            if row is None:  # it may have begun between the two looks
                row = await db.fetchrow(statements.EXECUTION, execution_id)
        return read_execution(row) if row else None

    async def runs(self, query: RunQuery) -> list[RunRecord]:
        """Return a page of runs, newest first."""
        values = (
            *query.before,
            query.from_ms,
            query.until_ms,
            query.workflow_id,
            query.statuses,
            query.containing,
            query.trigger_id,
            query.limit,
        )
        async with self.connection() as db:
            parked = await db.fetch(_PARKED_RUNS, *values)  # first: what then begins is in both
            begun = await db.fetch(_RUNS, *values)
        return newest(map(read_execution, parked), map(read_execution, begun), query.limit)

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        async with self.connection() as db:
            row = await db.fetchrow(statements.DEFINITION, ref)
        return Definition(**row) if row else None

    async def visits(self, query: VisitQuery) -> list[PlacedVisit]:
        """Return a page of visits in the order they were recorded."""
        needles = [inside_item(query.execution_id, *one) for one in query.within]
        async with self.connection() as db:
            rows = await db.fetch(
                _VISITS,
                query.execution_id,
                query.after,
                query.node_id,
                query.status,
                needles,
                query.limit,
            )
        return [PlacedVisit(row["seq"], read_node_run(row)) for row in rows]

    async def totals(self, execution_id: str) -> list[NodeTotals]:
        """Return what the nodes of a run came to."""
        async with self.connection() as db:
            rows = await db.fetch(_TOTALS, execution_id)
        return [NodeTotals(**row) for row in rows]

    async def items(
        self, execution_id: str, split: str, *, after: int, limit: int
    ) -> list[ItemTotals]:
        """Return a page of the items of a split, in the order they were first heard of."""
        async with self.connection() as db:
            rows = await db.fetch(_ITEMS, execution_id, inside_split(split), after, limit)
        return [
            ItemTotals(
                place=row["place"],
                lineage=_lineage.decode(row["lineage"]),
                visits=row["visits"],
                failed=row["failed"],
                last_ms=row["last_ms"],
            )
            for row in rows
        ]

    async def output(self, execution_id: str, token_id: str, node_id: str) -> VisitRecord | None:
        """Return one visit."""
        async with self.connection() as db:
            row = await db.fetchrow(_OUTPUT, execution_id, token_id, node_id)
        return read_node_run(row) if row else None

    async def payload(self, execution_id: str, content: str) -> bytes | None:
        """Return a stored payload by its hash."""
        async with self.connection() as db:
            body: bytes | None = await db.fetchval(statements.GET, execution_id, content)
        return body

    async def events(self, execution_id: str, *, after: int, limit: int) -> list[RunEvent]:
        """Return the events after a number."""
        async with self.connection() as db:
            rows = await db.fetch(_EVENTS, execution_id, after, limit)
        return [read_event(row["body"]) for row in rows]

    async def last_event(self, execution_id: str) -> int:
        """Return the number of the last event of a run."""
        query = "SELECT last_event FROM execution WHERE execution_id = $1"
        async with self.connection() as db:
            return int(await db.fetchval(query, execution_id) or 0)

    async def all_events(self, query: EventQuery, *, after: int, limit: int) -> PlacedEventPage:
        """Return events of all runs after a place."""
        async with self.connection() as db:
            last = int(await db.fetchval(_LAST_PLACE))
            values = (after, last, query.workflow_id, query.runs, limit)
            rows = await db.fetch(_ALL_EVENTS, *values) if last > after else []
        found = [
            PlacedEvent(place, run, workflow, read_event(body))
            for place, run, workflow, body in rows
        ]
        return PlacedEventPage(found, found[-1].place if len(found) == limit else max(after, last))

    async def last_place(self) -> int:
        """Return the place of the last event of all."""
        async with self.connection() as db:
            return int(await db.fetchval(_LAST_PLACE))

    async def lines(
        self, execution_id: str, *, node_id: str, after: int, limit: int
    ) -> list[StoredLines]:
        """Return what visits after a place wrote to the log."""
        async with self.connection() as db:
            rows = await db.fetch(_LINES, execution_id, after, node_id, limit)
        return [
            StoredLines(place, node, attempt, _lineage.decode(stack) if stack else (), lines)
            for place, node, attempt, stack, lines in rows
        ]

    async def counts(self, since_ms: int) -> Mapping[tuple[str, str], int]:
        """Return how many runs there are of each workflow and status."""
        async with self.connection() as db:
            rows = await db.fetch(_COUNTS, since_ms)
        return {(row["workflow_id"], row["status"]): row["many"] for row in rows}

    async def claim_key(self, key: str, wanted: StartKey, at_ms: int) -> StartKey:
        """Note what a key stands for, unless it is known; return what it stands for."""
        async with self.connection() as db, db.transaction():
            await db.execute(_CLAIM_KEY, key, *wanted, at_ms)
            row = await db.fetchrow(
                "SELECT execution_id, fingerprint FROM start_key WHERE key = $1", key
            )
        return StartKey(**row) if row else wanted

    async def drop_keys(self, before_ms: int) -> None:
        """Forget keys that were claimed before a moment."""
        async with self.connection() as db:
            await db.execute("DELETE FROM start_key WHERE at_ms < $1", before_ms)


_conforms: type[RunQueries] = PostgresRunQueries
