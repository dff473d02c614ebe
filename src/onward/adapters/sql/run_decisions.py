"""Decisions about runs, in a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import astuple

from onward.adapters.sql.database import SqlDatabase
from onward.adapters.sql.rows import read_struct
from onward.ports.storage.run_decisions import RunDecision, RunDecisions

_NOTE = """
INSERT INTO run_control (execution_id, retry_of, root, paused_ms, priority, deadline_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (execution_id) DO NOTHING
"""
_DECISIONS = """
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


class TableRunDecisions:
    """`RunDecisions` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def note(self, control: RunDecision) -> None:
        await self._tables.rows(_NOTE, *astuple(control))

    async def control(self, execution_id: str) -> RunDecision:
        found = await self.controls([execution_id])
        return found.get(execution_id) or RunDecision(execution_id=execution_id)

    async def controls(self, execution_ids: Collection[str]) -> Mapping[str, RunDecision]:
        rows = await self._tables.rows(_DECISIONS, list(execution_ids))
        return {row[0]: read_struct(RunDecision, row) for row in rows}

    async def pause(self, execution_id: str, at_ms: int | None) -> None:
        await self._tables.rows(_PAUSE, execution_id, at_ms)

    async def attempts(self, execution_id: str) -> list[str]:
        return [name for (name,) in await self._tables.rows(_ATTEMPTS, execution_id)]

    async def overdue(self, now_ms: int, limit: int) -> list[str]:
        return [name for (name,) in await self._tables.rows(_OVERDUE, now_ms, limit)]


_conforms: type[RunDecisions] = TableRunDecisions
