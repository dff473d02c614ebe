"""Bringing a database up to date: every process does it when it opens the store."""

from __future__ import annotations

from importlib import resources
from typing import TypeAlias

from asyncpg import Connection, Record
from asyncpg.pool import PoolConnectionProxy

_LOCK = 0x77656674  # "weft"

_Connection: TypeAlias = "Connection[Record] | PoolConnectionProxy[Record]"


def migrations() -> dict[str, str]:
    """Return every migration by name, in the order to apply them."""
    folder = resources.files("weft.adapters.postgres").joinpath("sql/migrations")
    files = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return {file.name: file.read_text() for file in sorted(files, key=lambda file: file.name)}


async def migrate(connection: _Connection) -> None:
    """Apply what is missing, all of it or nothing; of many who try at once one does the work.

    A migration that this release does not know was applied by a newer one, and is no obstacle.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        done = await _applied(connection)
        for name, script in migrations().items():
            if name not in done:
                await connection.execute(script)
                await connection.execute("INSERT INTO migration (name) VALUES ($1)", name)


async def _applied(connection: _Connection) -> set[str]:
    if await connection.fetchval("SELECT to_regclass('migration')") is None:
        return set()
    return {row["name"] for row in await connection.fetch("SELECT name FROM migration")}
