"""What was decided about runs, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from onward.adapters.postgres.connection import PostgresConnections
from onward.ports.storage.run_decisions import RunDecision, RunDecisions

_NOTE = """
INSERT INTO run_control (execution_id, retry_of, root, paused_ms, priority, deadline_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (execution_id) DO NOTHING
"""
_SOME = """
SELECT execution_id, retry_of, root, paused_ms, priority, deadline_ms FROM run_control
WHERE execution_id = ANY ($1::text[])
"""
_PAUSE = """
INSERT INTO run_control (execution_id, paused_ms) VALUES ($1, $2)
ON CONFLICT (execution_id) DO UPDATE SET paused_ms = excluded.paused_ms
"""
_ATTEMPTS = "SELECT execution_id FROM run_control WHERE retry_of = $1 ORDER BY execution_id"
_OVERDUE = """
SELECT execution_id FROM run_control JOIN execution USING (execution_id)
WHERE deadline_ms <= $1 AND status = 'running' ORDER BY deadline_ms LIMIT $2
"""


class PostgresRunDecisions(PostgresConnections):
    """`Controls` of the runs of a cluster."""

    async def note(self, control: RunDecision) -> None:
        """Keep what was decided before a run began."""
        async with self.connection() as db:
            await db.execute(_NOTE, *msgspec.structs.astuple(control))

    async def control(self, execution_id: str) -> RunDecision:
        """Return what was decided about a run."""
        found = await self.controls([execution_id])
        return found.get(execution_id) or RunDecision(execution_id=execution_id)

    async def controls(self, execution_ids: Collection[str]) -> Mapping[str, RunDecision]:
        """Return what was decided about some runs."""
        async with self.connection() as db:
            rows = await db.fetch(_SOME, list(execution_ids))
        return {row["execution_id"]: RunDecision(**row) for row in rows}

    async def pause(self, execution_id: str, at_ms: int | None) -> None:
        """Keep since when a run is paused."""
        async with self.connection() as db:
            await db.execute(_PAUSE, execution_id, at_ms)

    async def attempts(self, execution_id: str) -> list[str]:
        """Return the runs that try a run again."""
        async with self.connection() as db:
            rows = await db.fetch(_ATTEMPTS, execution_id)
        return [row["execution_id"] for row in rows]

    async def overdue(self, now_ms: int, limit: int) -> list[str]:
        """Return runs that go on beyond their deadline."""
        async with self.connection() as db:
            rows = await db.fetch(_OVERDUE, now_ms, limit)
        return [row["execution_id"] for row in rows]


_conforms: type[RunDecisions] = PostgresRunDecisions
