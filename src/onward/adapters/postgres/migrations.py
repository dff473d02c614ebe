"""Migrations of a PostgreSQL: every process brings it up to date when it opens the store.

    NNNN_pre_what.sql          only adds: processes of every earlier release still work
    NNNN_after_MMMM_what.sql   removes or changes: only those that know migration MMMM still work

So a release may run beside the one before it, and one that is too old for the tables is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib import resources
from typing import TypeAlias

from asyncpg import Connection, Record
from asyncpg.pool import PoolConnectionProxy

from onward.errors import StorageError

_LOCK = 0x6F6E7764
"""The advisory lock of migrations; other releases take the same."""

MIGRATION_NAME = re.compile(r"(?P<number>\d{4})_(?:pre|after_(?P<least>\d{4}))_[a-z_]+\.sql")

_Connection: TypeAlias = "Connection[Record] | PoolConnectionProxy[Record]"


def migrations() -> dict[str, str]:
    """Return every migration by name, in the order to apply them."""
    folder = resources.files("onward.adapters.postgres").joinpath("sql/migrations")
    files = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return {file.name: file.read_text() for file in sorted(files, key=lambda file: file.name)}


async def migrate(connection: _Connection) -> None:
    """Apply what is missing, all of it or nothing; of many processes at once, one does the work.

    A migration that this release does not know was applied by a newer one, and is no obstacle
    unless its name says so: then StorageError, and nothing is changed.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        done = await _applied(connection)
        if found := obstacle(done, migrations()):
            raise StorageError(
                f"PostgreSQL holds the tables of a newer onward ({found}), too new for this one:"
                " update this process"
            )
        for name, script in migrations().items():
            if name not in done:
                await connection.execute(script)
                await connection.execute("INSERT INTO migration (name) VALUES ($1)", name)


def obstacle(applied: Collection[str], known: Collection[str]) -> str:
    """Return a migration under which a release that has only the known ones cannot work, or ""."""
    newest = max((name[:4] for name in known), default="")
    for name in sorted(set(applied) - set(known)):
        read = MIGRATION_NAME.fullmatch(name)
        if read and read["least"] and read["least"] > newest:
            return name
    return ""


async def _applied(connection: _Connection) -> set[str]:
    if await connection.fetchval("SELECT to_regclass('migration')") is None:
        return set()
    return {row["name"] for row in await connection.fetch("SELECT name FROM migration")}
