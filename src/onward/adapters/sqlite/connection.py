"""A second connection to the journal's file, in a thread of its own: callers never wait for it.

The engine writes the same file. Transactions here are small and rare, and both connections wait for
each other, so neither holds up the other for long. `SqliteConnection` is that connection,
`transaction` and `rewrite` the way to use it, `SqliteDatabase` the seam of the shared SQL on it.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from onward.adapters.sql.database import DuplicateError, Row, SqlDatabase, Step, Steps
from onward.errors import StorageError

T = TypeVar("T")

_UNIQUE = {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}

_IN_LIST = "IN (SELECT value FROM json_each(?{}))"

# What the shared SQL writes for PostgreSQL; a literal comes first, so that nothing in it is found.
_DIFFERENT = re.compile(
    r"(?P<literal>'[^']*')"
    r"|= ANY \(\$(?P<list>\d+)::text\[\]\)"
    r"|\$(?P<parameter>\d+)"
    r"|(?P<strpos>\bstrpos\()"
    r"|(?P<lock>\s+FOR UPDATE\b)"
)


class SqliteConnection:
    """Does work on one connection, one piece after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onward-sqlite")
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            self._db.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as problem:
            self._db.close()
            raise StorageError(f"{path} is not a usable onward database: {problem}") from None

    def close(self) -> None:
        """Wait for the work under way, and close the file."""
        self._thread.shutdown()
        self._db.close()

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `work`; StorageError when the file refuses."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._db)
        except sqlite3.Error as problem:
            unique = getattr(problem, "sqlite_errorname", "") in _UNIQUE
            kind = DuplicateError if unique else StorageError
            raise kind(f"the database {self._path} refuses: {problem}") from problem


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit everything inside together, or undo it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise


class SqliteDatabase:
    """The `SqlDatabase` of an embedded engine."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection

    async def rows(self, statement: str, *values: Any) -> list[Row]:
        return await self._connection.do(lambda db: _execute(db, (statement, values)).fetchall())

    async def change(self, first: Step, *more: Step) -> int:
        def work(db: sqlite3.Connection) -> int:
            with transaction(db):
                changed = _execute(db, first).rowcount
                for step in more if changed else ():
                    _execute(db, step)
            return changed

        return await self._connection.do(work)

    async def transact(self, steps: Steps[T]) -> T:
        def work(db: sqlite3.Connection) -> T:
            with transaction(db):
                try:
                    step = next(steps)
                    while True:
                        step = steps.send(_execute(db, step).fetchall())
                except StopIteration as end:
                    result: T = end.value
            return result

        return await self._connection.do(work)


def _execute(db: sqlite3.Connection, step: Step) -> sqlite3.Cursor:
    statement, values = step
    return db.execute(rewrite(statement), tuple(map(_value, values)))


def _value(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


@lru_cache(maxsize=512)
def rewrite(statement: str) -> str:
    """Return a statement of the shared SQL as SQLite writes it; text between quotes stays."""

    def rewritten(found: re.Match[str]) -> str:
        match found.lastgroup:
            case "list":
                return _IN_LIST.format(found["list"])
            case "parameter":
                return f"?{found['parameter']}"
            case "strpos":
                return "instr("
            case "lock":
                return ""
            case _:
                return found[0]

    return _DIFFERENT.sub(rewritten, statement)


_conforms: type[SqlDatabase] = SqliteDatabase
