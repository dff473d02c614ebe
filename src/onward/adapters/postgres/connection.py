"""Connections to PostgreSQL: what it is called in a message, what can go wrong, and how to use it.

First the address and the errors, in one line with the remedy and never with the password; then
`PostgresConnections`, on which everything here stands; then `PostgresDatabase`, the seam of the
shared SQL.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg import Pool, Record
from asyncpg.pool import PoolConnectionProxy

from onward.adapters.sql.database import DuplicateError, Row, SqlDatabase, Step, Steps
from onward.errors import StorageError, StorageUnavailableError

T = TypeVar("T")

ACQUIRE_TIMEOUT_S = 30

PooledConnection: TypeAlias = "PoolConnectionProxy[Record]"

FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what answers does not speak PostgreSQL
    OSError,
)
"""Everything the driver raises for what the other side does."""

_PASSING = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # it starts or stops, or ended the connection
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby may be about to become the primary
)
_URL_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


# -- addresses and errors ----------------------------------------------------------------------


def place_of(url: str) -> str:
    """Return the address in a URL, fit to be shown: hosts and ports as written, and the database.

    Raises StorageError for a URL that cannot be read. A character that should have been escaped
    moves parts of a password to other places, so nothing of such a URL is repeated.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise unreadable() from None
    if parts.scheme not in {"postgresql", "postgres"} or "@" in url.partition(parts.netloc)[2]:
        raise unreadable()
    hosts = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", ()))
    return f"{hosts or 'localhost'}/{parts.path.lstrip('/')}"


def unreadable() -> StorageError:
    """Return the error for a URL that cannot be read: the form, and nothing of the URL."""
    return StorageError(
        f"the PostgreSQL URL cannot be read: write {_URL_FORM},"
        " with special characters in the password escaped (@ as %40, / as %2F)"
    )


def failure(problem: Exception, place: str) -> StorageError:
    """Return the error that says what went wrong at `place`, and what to do."""
    kind: type[StorageError] = StorageError
    if isinstance(problem, _PASSING):
        kind = StorageUnavailableError
    elif isinstance(problem, asyncpg.UniqueViolationError):
        kind = DuplicateError
    return kind(f"PostgreSQL at {place} {_described(problem)}")


def _described(problem: Exception) -> str:
    match problem:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return "refuses the user: check user name and password in the URL, and pg_hba.conf"
        case asyncpg.InvalidCatalogNameError():
            return "has no such database: create it with createdb, or correct the URL"
        case asyncpg.ReadOnlySQLTransactionError():
            return "is read-only (a standby, or default_transaction_read_only): use the primary"
        case asyncpg.InsufficientPrivilegeError():
            return f"refuses: {_line(problem)}; grant the user the right, or use another"
        case asyncpg.TooManyConnectionsError():
            return "has no connection left: raise max_connections, or run fewer processes"
        case asyncpg.CannotConnectNowError() | asyncpg.AdminShutdownError():
            return "is starting or stopping: try again shortly"
        case asyncpg.DiskFullError():
            return "has no disk space left: free some, or prune old runs"
        case asyncpg.DuplicateTableError() | asyncpg.UndefinedColumnError():
            return f"holds another program's tables ({_line(problem)}): use an empty database"
        case TimeoutError():
            return "did not answer in time: is it overloaded, or the address wrong?"
        case OSError() | asyncpg.PostgresConnectionError():
            return f"cannot be reached ({_line(problem)}): start it, or correct the URL"
        case _:
            return f"refuses: {_line(problem)}"


def _line(problem: Exception) -> str:
    """Return the first line of a message: details of the server can be long."""
    return (str(problem) or type(problem).__name__).splitlines()[0]


# -- connections of a pool ---------------------------------------------------------------------


class PostgresConnections:
    """Uses connections of a pool that its owner opens and closes."""

    def __init__(self, pool: Pool[Record], place: str = "its address") -> None:
        self.pool = pool
        self.place = place

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PooledConnection]:
        """Lend a connection; StorageError for whatever the server or the network refuses."""
        try:
            async with self.pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                yield connection
        except FAILURES as problem:
            raise failure(problem, self.place) from problem


# -- the seam of the shared SQL ------------------------------------------------------------------


class PostgresDatabase(PostgresConnections):
    """The `SqlDatabase` that any number of processes share."""

    async def rows(self, statement: str, *values: Any) -> list[Row]:
        async with self.connection() as db:
            return await _fetch(db, (statement, values))

    async def change(self, first: Step, *more: Step) -> int:
        async with self.connection() as db, db.transaction():
            changed = int((await db.execute(first[0], *first[1])).rpartition(" ")[2])
            for statement, values in more if changed else ():
                await db.execute(statement, *values)
        return changed

    async def transact(self, steps: Steps[T]) -> T:
        async with self.connection() as db, db.transaction():
            try:
                step = next(steps)
                while True:
                    step = steps.send(await _fetch(db, step))
            except StopIteration as end:
                result: T = end.value
        return result


async def _fetch(db: PooledConnection, step: Step) -> list[Row]:
    statement, values = step
    return [tuple(row) for row in await db.fetch(statement, *values)]


_conforms: type[SqlDatabase] = PostgresDatabase
