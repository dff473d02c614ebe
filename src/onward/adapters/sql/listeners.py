"""The subscriptions of runs to events, in a table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from onward.adapters.sql.database import SqlDatabase
from onward.ports.nodes.events import Listeners, Subscription

SUBSCRIPTIONS_PAGE = 200

_ADD = """
INSERT INTO listener (event_type, execution_id, address, token) VALUES ($1, $2, $3, $4)
ON CONFLICT (event_type, execution_id, address) DO UPDATE SET token = excluded.token
"""
_TIDY = """
DELETE FROM listener WHERE event_type = $1 AND execution_id IN (
  SELECT l.execution_id FROM listener l JOIN execution e ON e.execution_id = l.execution_id
  WHERE l.event_type = $1 AND e.status <> 'running' LIMIT 20)
"""
_OF = """
SELECT l.execution_id, l.address, l.event_type, l.token
FROM listener l LEFT JOIN execution e ON e.execution_id = l.execution_id
WHERE l.event_type = $1 AND (l.execution_id, l.address) > ($2, $3)
  AND (e.status IS NULL OR e.status = 'running')
ORDER BY l.execution_id, l.address LIMIT $4
"""


class TableListeners:
    """`Listeners` in a database. Adding some also deletes a few of runs that have ended."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def add(self, subscriptions: Sequence[Subscription]) -> None:
        if not subscriptions:
            return
        steps = [
            (
                _ADD,
                (
                    subscription.event_type,
                    subscription.execution_id,
                    subscription.address,
                    subscription.token,
                ),
            )
            for subscription in subscriptions
        ]
        types = sorted({subscription.event_type for subscription in subscriptions})
        await self._tables.change(*steps, *((_TIDY, (kind,)) for kind in types))

    async def of(self, event_type: str) -> AsyncIterator[list[Subscription]]:
        for kind in dict.fromkeys((event_type, "")):
            last = ("", "")
            while rows := await self._tables.rows(_OF, kind, *last, SUBSCRIPTIONS_PAGE):
                yield [Subscription(*row) for row in rows]
                last = rows[-1][:2]


_conforms: type[Listeners] = TableListeners
