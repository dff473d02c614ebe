"""From a URL to a store that is reachable, writable and up to date."""

from __future__ import annotations

from typing import TypeAlias

import asyncpg
from asyncpg import Pool, Record

from onward.adapters.postgres.failures import FAILURES, failure, place_of, unreadable
from onward.adapters.postgres.migrations import migrate
from onward.adapters.postgres.store import PostgresStore
from onward.errors import StorageError

CONNECTIONS = 10
CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 60

_Connections: TypeAlias = "Pool[Record]"


async def open_store(url: str) -> PostgresStore:
    """Connect, bring the tables up to date, and return the store.

    Raises StorageError, one line with the remedy, when the server cannot be reached, refuses the
    user, has no such database, is read-only, or has the tables of a much newer release. The line
    never holds the password.
    """
    place = place_of(url)
    pool: _Connections = await asyncpg.create_pool(
        url,
        min_size=0,  # connections come when they are needed: none is restored behind our back
        max_size=CONNECTIONS,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=STATEMENT_TIMEOUT_S,
        server_settings={"application_name": "onward"},
    )
    try:
        await _prepare(pool)
    except FAILURES as problem:
        await pool.close()
        raise failure(problem, place) from None
    except StorageError:
        await pool.close()
        raise
    except ValueError:  # a port that is no number, a host that cannot be a name
        await pool.close()
        raise unreadable() from None
    return PostgresStore(pool, place)


async def _prepare(pool: _Connections) -> None:
    async with pool.acquire() as connection:
        if await connection.fetchval("SHOW transaction_read_only") == "on":
            raise asyncpg.ReadOnlySQLTransactionError
        await migrate(connection)
