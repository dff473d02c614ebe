"""The tables of access beside the journal."""

from __future__ import annotations

import sqlite3
from typing import Any

from onward.adapters.access.tables import Step, Tables
from onward.adapters.embedded.threaded import Threaded, transaction


class SqliteTables:
    """`Tables` in the file of an embedded engine."""

    def __init__(self, file: Threaded) -> None:
        self._file = file

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what a question comes to."""
        return await self._file.do(lambda db: db.execute(_here(statement), values).fetchall())

    async def change(self, first: Step, *more: Step) -> int:
        """Do all steps together, unless the first changes nothing."""

        def work(db: sqlite3.Connection) -> int:
            with transaction(db):
                changed = db.execute(_here(first[0]), first[1]).rowcount
                for statement, values in more if changed else ():
                    db.execute(_here(statement), values)
            return changed

        return await self._file.do(work)


def _here(statement: str) -> str:
    return statement.replace("$", "?")


_conforms: type[Tables] = SqliteTables
