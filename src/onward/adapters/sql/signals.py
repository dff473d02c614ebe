"""Signals to runs, and links from runs to their child runs, in two tables."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from onward.adapters.sql.database import Row, SqlDatabase
from onward.adapters.sql.rows import read_struct
from onward.ports.storage.signals import (
    ChildLink,
    ChildLinks,
    PlacedSignal,
    SignalLog,
    StoredSignal,
)

_ADD_SIGNAL = """
INSERT INTO run_signal (execution_id, address, signal_id, content, sender, sent_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (execution_id, address, signal_id) DO NOTHING
"""
_SIGNAL = """
SELECT execution_id, address, signal_id, content, sender, sent_ms
FROM run_signal WHERE execution_id = $1 AND address = $2 AND signal_id = $3
"""
_SIGNALS = """
SELECT execution_id, address, signal_id, content, sender, sent_ms, seq
FROM run_signal WHERE execution_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
"""
_ADD_LINK = """
INSERT INTO run_link (child_id, parent_id, node_id, token_id, depth, waits)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (child_id) DO NOTHING
"""
_PARENTS = """
SELECT child_id, parent_id, node_id, token_id, depth, waits
FROM run_link WHERE child_id = ANY ($1::text[])
"""
_CHILDREN = """
SELECT child_id, parent_id, node_id, token_id, depth, waits
FROM run_link WHERE parent_id = $1 AND child_id > $2 ORDER BY child_id LIMIT $3
"""
_UNTOLD = """
SELECT l.child_id, l.parent_id, l.node_id, l.token_id, l.depth, l.waits
FROM run_link l
JOIN execution child ON child.execution_id = l.child_id
JOIN execution parent ON parent.execution_id = l.parent_id
WHERE l.waits AND (child.status = 'running') <> (parent.status = 'running')
"""


class TableSignals:
    """A `SignalLog` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def keep(self, signal: StoredSignal) -> bool:
        return await self._tables.change((_ADD_SIGNAL, astuple(signal))) == 1

    async def signal(self, execution_id: str, address: str, signal_id: str) -> StoredSignal | None:
        rows = await self._tables.rows(_SIGNAL, execution_id, address, signal_id)
        return read_struct(StoredSignal, rows[0]) if rows else None

    async def signals(self, execution_id: str, *, after: int, limit: int) -> list[PlacedSignal]:
        rows = await self._tables.rows(_SIGNALS, execution_id, after, limit)
        return [PlacedSignal(row[-1], read_struct(StoredSignal, row[:-1])) for row in rows]


class TableChildLinks:
    """`ChildLinks` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def add(self, link: ChildLink) -> None:
        await self._tables.change((_ADD_LINK, astuple(link)))

    async def parents(self, children: Sequence[str]) -> list[ChildLink]:
        return [*map(_link, await self._tables.rows(_PARENTS, list(children)))]

    async def children(self, parent_id: str, *, after: str, limit: int) -> list[ChildLink]:
        return [*map(_link, await self._tables.rows(_CHILDREN, parent_id, after, limit))]

    async def untold(self) -> list[ChildLink]:
        return [*map(_link, await self._tables.rows(_UNTOLD))]


def _link(row: Row) -> ChildLink:
    return read_struct(ChildLink, (*row[:-1], bool(row[-1])))


_conforms: tuple[type[SignalLog], type[ChildLinks]] = (TableSignals, TableChildLinks)
