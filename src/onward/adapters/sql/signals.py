"""Signals and links between runs, in two tables."""

from __future__ import annotations

from collections.abc import Sequence

from onward.adapters.sql.database import SqlDatabase
from onward.ports.storage.signals import (
    ChildLink,
    ChildLinks,
    PlacedSignal,
    SignalLog,
    StoredSignal,
)

PAGE = 500

_KEEP = """
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
_ADD = """
INSERT INTO run_link (child_id, parent_id, node_id, token_id, depth, waits)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (child_id) DO NOTHING
"""
_PARENTS = (
    "SELECT child_id, parent_id, node_id, token_id, depth, waits FROM run_link WHERE child_id"
)
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
        """Note a signal."""
        values = tuple(getattr(signal, name) for name in StoredSignal.__struct_fields__)
        return await self._tables.change((_KEEP, values)) == 1

    async def signal(self, execution_id: str, address: str, signal_id: str) -> StoredSignal | None:
        """Return a signal."""
        rows = await self._tables.rows(_SIGNAL, execution_id, address, signal_id)
        return _signal(rows[0]) if rows else None

    async def signals(self, execution_id: str, *, after: int, limit: int) -> list[PlacedSignal]:
        """Return a page of a run's signals."""
        rows = await self._tables.rows(_SIGNALS, execution_id, after, limit)
        return [PlacedSignal(row[-1], _signal(row[:-1])) for row in rows]


class TableChildLinks:
    """`Links` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def add(self, link: ChildLink) -> None:
        """Note a link."""
        values = tuple(getattr(link, name) for name in ChildLink.__struct_fields__)
        await self._tables.change((_ADD, values))

    async def parents(self, children: Sequence[str]) -> list[ChildLink]:
        """Return the links of those runs that another one started."""
        found: list[ChildLink] = []
        for start in range(0, len(children), PAGE):
            page = children[start : start + PAGE]
            places = ", ".join(f"${number}" for number in range(1, len(page) + 1))
            rows = await self._tables.rows(f"{_PARENTS} IN ({places})", *page)
            found += map(_link, rows)
        return found

    async def children(self, parent_id: str, *, after: str, limit: int) -> list[ChildLink]:
        """Return a page of what a run has started."""
        return [*map(_link, await self._tables.rows(_CHILDREN, parent_id, after, limit))]

    async def untold(self) -> list[ChildLink]:
        """Return the links whose parent may not have heard of the child's end."""
        return [*map(_link, await self._tables.rows(_UNTOLD))]


def _signal(row: tuple[object, ...]) -> StoredSignal:
    return StoredSignal(**dict(zip(StoredSignal.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]  # a row of that table


def _link(row: tuple[object, ...]) -> ChildLink:
    fields = dict(zip(ChildLink.__struct_fields__, row, strict=True))
    return ChildLink(**{**fields, "waits": bool(fields["waits"])})  # type: ignore[arg-type]  # a row of that table


_conforms: tuple[type[SignalLog], type[ChildLinks]] = (TableSignals, TableChildLinks)
