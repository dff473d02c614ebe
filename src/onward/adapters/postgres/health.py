"""The health of a PostgreSQL, read without changing it."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg
from asyncpg import Connection, Record

from onward.adapters.postgres.connection import FAILURES, failure, place_of, unreadable
from onward.adapters.postgres.migrations import migrations
from onward.ports.clock import Clock

CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class PostgresFacts:
    """Facts about a PostgreSQL and the database in it."""

    place: str
    version: str
    writable: bool
    may_create: bool
    """Whether this user may make tables."""
    applied: frozenset[str]
    wanted: frozenset[str]
    """The migrations that were applied, and those that this release has."""
    ahead_ms: int
    """How far its clock is ahead of this machine's."""


async def inspect_postgres(url: str, clock: Clock) -> PostgresFacts:
    """Return facts about the database at `url`; StorageError when it cannot be reached or read."""
    place = place_of(url)
    try:
        connection: Connection[Record] = await asyncpg.connect(
            url,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=CONNECT_TIMEOUT_S,
            server_settings={"application_name": "onward doctor"},
        )
    except FAILURES as problem:
        raise failure(problem, place) from None
    except ValueError:
        raise unreadable() from None
    try:
        return await _facts(connection, place, clock)
    except FAILURES as problem:
        raise failure(problem, place) from None
    finally:
        await connection.close(timeout=CONNECT_TIMEOUT_S)


async def _facts(connection: Connection[Record], place: str, clock: Clock) -> PostgresFacts:
    before_ms = clock.now_ms()
    theirs = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp()) * 1000")
    between_ms = (before_ms + clock.now_ms()) // 2
    known = await connection.fetchval("SELECT to_regclass('migration')") is not None
    rows = await connection.fetch("SELECT name FROM migration") if known else []
    read_only = await connection.fetchval("SHOW transaction_read_only")
    return PostgresFacts(
        place=place,
        version=str(await connection.fetchval("SHOW server_version")),
        writable=read_only == "off",
        may_create=bool(
            await connection.fetchval("SELECT has_schema_privilege(current_schema(), 'CREATE')")
        ),
        applied=frozenset(str(row["name"]) for row in rows),
        wanted=frozenset(migrations()),
        ahead_ms=int(theirs) - between_ms,
    )
