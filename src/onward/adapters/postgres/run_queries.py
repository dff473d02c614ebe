"""Runs in pages, from PostgreSQL."""

from __future__ import annotations

from onward.adapters.postgres import statements
from onward.adapters.sql.database import Row
from onward.adapters.sql.run_queries import TableRunQueries
from onward.ports.storage.run_queries import RunQueries, VisitQuery

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


class PostgresRunQueries(TableRunQueries):
    """The `RunQueries` of a cluster."""

    RUN = statements.EXECUTION
    VISIT = f"{_VISIT} WHERE execution_id = $1 AND token_id = $2 AND node_id = $3"
    TOTALS = """
    SELECT node_id, status, count(*), min(at_ms - duration_ms)::bigint, max(at_ms),
           sum(duration_ms)::bigint
    FROM node_run WHERE execution_id = $1 GROUP BY node_id, status ORDER BY min(seq)
    """
    ITEMS = """
    WITH first AS (
      SELECT seq AS place, lineage FROM node_run AS visit
      WHERE execution_id = $1 AND seq > $3
        AND lineage IS NOT NULL AND position($2::bytea IN lineage) > 0
        AND NOT EXISTS (
          SELECT FROM node_run AS earlier
          WHERE earlier.execution_id = $1 AND earlier.lineage IS NOT NULL
            AND md5(earlier.lineage) = md5(visit.lineage) AND earlier.seq < visit.seq)
      ORDER BY seq LIMIT $4)
    SELECT place, first.lineage, count(*), count(*) FILTER (WHERE status = 'failed'), max(at_ms)
    FROM first JOIN node_run AS inside
      ON inside.execution_id = $1 AND inside.lineage IS NOT NULL
     AND md5(inside.lineage) = md5(first.lineage)
    GROUP BY place, first.lineage ORDER BY place
    """
    LAST_PLACE = "SELECT coalesce(max(place), 0) FROM event"
    ALL_EVENTS = """
    SELECT place, execution_id, workflow_id, body FROM event JOIN execution USING (execution_id)
    WHERE place > $1 AND place <= $2
      AND ($3 = '' OR workflow_id = $3)
      AND ($4 OR execution_id = ANY ($5::text[]))
    ORDER BY place LIMIT $6
    """
    LINES = """
    SELECT seq, node_id, attempt, lineage, lines FROM node_log
    WHERE execution_id = $1 AND seq > $2 AND ($3 = '' OR node_id = $3)
    ORDER BY seq LIMIT $4
    """

    async def _visits(self, query: VisitQuery, needles: list[bytes]) -> list[Row]:
        values = (query.execution_id, query.after, query.node_id, query.status)
        return await self._tables.rows(_VISITS, *values, needles, query.limit)


_conforms: type[RunQueries] = PostgresRunQueries
