"""What was decided about runs, in the file of the journal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from onward.adapters.sqlite.connection import SqliteConnection
from onward.ports.storage.run_decisions import RunDecision, RunDecisions

_NOTE = """
INSERT OR IGNORE INTO run_control
  (execution_id, retry_of, root, paused_ms, priority, deadline_ms)
VALUES (?, ?, ?, ?, ?, ?)
"""
_SOME = """
SELECT execution_id, retry_of, root, paused_ms, priority, deadline_ms FROM run_control
WHERE execution_id IN (SELECT value FROM json_each(?))
"""
_PAUSE = """
INSERT INTO run_control (execution_id, paused_ms) VALUES (?1, ?2)
ON CONFLICT (execution_id) DO UPDATE SET paused_ms = excluded.paused_ms
"""
_ATTEMPTS = "SELECT execution_id FROM run_control WHERE retry_of = ? ORDER BY execution_id"
_OVERDUE = """
SELECT execution_id FROM run_control JOIN execution USING (execution_id)
WHERE deadline_ms <= ? AND status = 'running' ORDER BY deadline_ms LIMIT ?
"""


class SqliteRunDecisions:
    """`Controls` of the runs of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
        self._file = file

    async def note(self, control: RunDecision) -> None:
        """Keep what was decided before a run began."""
        await self._rows(_NOTE, *msgspec.structs.astuple(control))

    async def control(self, execution_id: str) -> RunDecision:
        """Return what was decided about a run."""
        found = await self.controls([execution_id])
        return found.get(execution_id) or RunDecision(execution_id=execution_id)

    async def controls(self, execution_ids: Collection[str]) -> Mapping[str, RunDecision]:
        """Return what was decided about some runs."""
        names = msgspec.json.encode(list(execution_ids)).decode()
        return {row[0]: _control(row) for row in await self._rows(_SOME, names)}

    async def pause(self, execution_id: str, at_ms: int | None) -> None:
        """Keep since when a run is paused."""
        await self._rows(_PAUSE, execution_id, at_ms)

    async def attempts(self, execution_id: str) -> list[str]:
        """Return the runs that try a run again."""
        return [row[0] for row in await self._rows(_ATTEMPTS, execution_id)]

    async def overdue(self, now_ms: int, limit: int) -> list[str]:
        """Return runs that go on beyond their deadline."""
        return [row[0] for row in await self._rows(_OVERDUE, now_ms, limit)]

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._file.do(lambda db: db.execute(statement, values).fetchall())


def _control(row: tuple[Any, ...]) -> RunDecision:
    return RunDecision(**dict(zip(RunDecision.__struct_fields__, row, strict=True)))


_conforms: type[RunDecisions] = SqliteRunDecisions
