"""What everything on PostgreSQL stands on: connections of one pool, and errors in one line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from asyncpg import Pool, Record
from asyncpg.pool import PoolConnectionProxy

from onward.adapters.postgres.failures import FAILURES, failure

ACQUIRE_TIMEOUT_S = 30

PooledConnection: TypeAlias = "PoolConnectionProxy[Record]"


class Pooled:
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
