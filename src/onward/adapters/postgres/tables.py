"""The tables of access in PostgreSQL."""

from __future__ import annotations

from typing import Any

from onward.adapters.access.tables import Step, Tables
from onward.adapters.postgres.pooled import Pooled


class PostgresTables(Pooled):
    """`Tables` that any number of processes share."""

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what a question comes to."""
        async with self.connection() as db:
            return [tuple(row.values()) for row in await db.fetch(statement, *values)]

    async def change(self, first: Step, *more: Step) -> int:
        """Do all steps together, unless the first changes nothing."""
        async with self.connection() as db, db.transaction():
            changed = int((await db.execute(first[0], *first[1])).rpartition(" ")[2])
            for statement, values in more if changed else ():
                await db.execute(statement, *values)
        return changed


_conforms: type[Tables] = PostgresTables
