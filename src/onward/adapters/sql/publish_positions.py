"""The published position of each event publisher, in a table."""

from __future__ import annotations

from onward.adapters.sql.database import SqlDatabase
from onward.ports.storage.publish_positions import PublishPositions

_ADD = """
INSERT INTO outlet (name, place, holder, until_ms) VALUES ($1, $2, '', 0)
ON CONFLICT (name) DO NOTHING
"""
_TAKE = """
UPDATE outlet SET holder = $2, until_ms = $3
WHERE name = $1 AND (holder = $4 OR until_ms < $5)
"""
_PLACE = "SELECT place FROM outlet WHERE name = $1"
_MOVE = "UPDATE outlet SET place = $3, until_ms = $4 WHERE name = $1 AND holder = $2"


class TablePublishPositions:
    """`PublishPositions` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def take(
        self, name: str, holder: str, *, first: int, now_ms: int, until_ms: int
    ) -> int | None:
        await self._tables.change((_ADD, (name, first)))
        taken = (name, holder, until_ms, holder, now_ms)
        if not await self._tables.change((_TAKE, taken)):
            return None
        ((place,),) = await self._tables.rows(_PLACE, name)
        return int(place)

    async def move(self, name: str, holder: str, place: int, *, until_ms: int) -> bool:
        return bool(await self._tables.change((_MOVE, (name, holder, place, until_ms))))


_conforms: type[PublishPositions] = TablePublishPositions
