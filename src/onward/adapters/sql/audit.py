"""The audit log in a table."""

from __future__ import annotations

from msgspec.structs import astuple

from onward.adapters.sql.database import SqlDatabase
from onward.adapters.sql.rows import read_struct
from onward.ports.security.audit import AuditEntry, AuditLog

_WRITE = """
INSERT INTO audit (at_ms, actor, action, target, origin, request_id, before, after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_ENTRIES = """
SELECT at_ms, actor, action, target, origin, request_id, before, after, seq
FROM audit
WHERE seq < $1 AND ($3 = '' OR actor = $3) AND ($4 = '' OR action = $4)
  AND ($5 = '' OR target = $5)
ORDER BY seq DESC LIMIT $2
"""


class TableAuditLog:
    """An `AuditLog` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def write(self, entry: AuditEntry) -> None:
        *values, _seq = astuple(entry)
        await self._tables.change((_WRITE, tuple(values)))

    async def entries(
        self, *, before: int, limit: int, actor: str = "", action: str = "", target: str = ""
    ) -> list[AuditEntry]:
        rows = await self._tables.rows(_ENTRIES, before, limit, actor, action, target)
        return [read_struct(AuditEntry, row) for row in rows]

    async def prune(self, before_ms: int) -> int:
        return await self._tables.change(("DELETE FROM audit WHERE at_ms < $1", (before_ms,)))


_conforms: type[AuditLog] = TableAuditLog
