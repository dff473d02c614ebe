"""A second connection to the journal's file, in a thread of its own: callers never wait for it.

The engine writes the same file. What is written here is small and rare, and both wait for their
turn, so neither holds up the other for long.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from onward.adapters.sql.database import SqlDatabase, Step
from onward.errors import StorageError

T = TypeVar("T")


class SqliteConnection:
    """Runs what is asked of it on one connection, one thing after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onward-archive")
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            self._db.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as problem:
            self._db.close()
            raise StorageError(f"{path} is not a usable onward database: {problem}") from None

    def close(self) -> None:
        """Wait for what is under way, and close the file."""
        self._thread.shutdown()
        self._db.close()

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` comes to; StorageError when the file refuses."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._db)
        except sqlite3.Error as problem:
            raise StorageError(f"the database {self._path} refuses: {problem}") from problem


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Make what is inside true together, or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise


# -- The tables of access beside the journal.


class SqliteDatabase:
    """`Tables` in the file of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
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


_conforms: type[SqlDatabase] = SqliteDatabase
