"""From a URL to a store that is reachable, writable and up to date."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg import Pool, Record
from asyncpg.pool import PoolConnectionProxy

from onward.adapters.sql.database import SqlDatabase, Step
from onward.errors import StorageError, StorageUnavailableError

# -- What PostgreSQL and the way to it can refuse, in one line with the remedy. Never the password.


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
    asyncpg.OperatorInterventionError,  # it starts or stops, or someone ended the connection
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby may be about to become the primary
)
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


def place_of(url: str) -> str:
    """Return where a URL leads, fit to be shown: hosts and ports as written, and the database.

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
    """Return the error for a URL that leads nowhere: its form, and nothing of itself."""
    return StorageError(
        f"the PostgreSQL URL cannot be read: write {_FORM},"
        " with special characters in the password escaped (@ as %40, / as %2F)"
    )


def failure(problem: Exception, place: str) -> StorageError:
    """Return the error that tells what went wrong at `place`, and what to do."""
    kind = StorageUnavailableError if isinstance(problem, _PASSING) else StorageError
    return kind(f"PostgreSQL at {place} {_told(problem)}")


def _told(problem: Exception) -> str:
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
    """Return the first line of what is said: details of the server can be long."""
    return (str(problem) or type(problem).__name__).splitlines()[0]


# -- What everything on PostgreSQL stands on: connections of one pool, and errors in one line.


ACQUIRE_TIMEOUT_S = 30

PooledConnection: TypeAlias = "PoolConnectionProxy[Record]"


class PostgresConnections:
    """Uses connections of a pool that somebody else opens and closes."""

    def __init__(self, pool: Pool[Record], place: str = "its address") -> None:
        self.pool = pool
        self.place = place

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PooledConnection]:
        """Lend a connection; StorageError for whatever the server or the way to it refuses."""
        try:
            async with self.pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                yield connection
        except FAILURES as problem:
            raise failure(problem, self.place) from problem


# -- The tables of access in PostgreSQL.


class PostgresDatabase(PostgresConnections):
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


_conforms: type[SqlDatabase] = PostgresDatabase
