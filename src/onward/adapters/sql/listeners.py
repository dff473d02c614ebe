"""Which runs listen to which events, in a table."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from onward.adapters.sql.database import SqlDatabase
from onward.ports.nodes.events import Listeners, Subscription

PAGE = 200

_ADD = """
INSERT INTO listener (event_type, execution_id, address, token) VALUES ($1, $2, $3, $4)
ON CONFLICT (event_type, execution_id, address) DO UPDATE SET token = excluded.token
"""
_TIDY = """
DELETE FROM listener WHERE event_type = $1 AND execution_id IN (
  SELECT l.execution_id FROM listener l JOIN execution e ON e.execution_id = l.execution_id
  WHERE l.event_type = $2 AND e.status <> 'running' LIMIT 20)
"""
_OF = """
SELECT l.execution_id, l.address, l.event_type, l.token
FROM listener l LEFT JOIN execution e ON e.execution_id = l.execution_id
WHERE l.event_type = $1 AND (l.execution_id > $2 OR (l.execution_id = $3 AND l.address > $4))
  AND (e.status IS NULL OR e.status = 'running')
ORDER BY l.execution_id, l.address LIMIT $5
"""


class TableListeners:
    """`Listeners` in a database. Whoever subscribes clears some of those away whose runs ended."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def add(self, subscriptions: Sequence[Subscription]) -> None:
        """Keep subscriptions, all of them or none."""
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
        await self._tables.change(*steps, *((_TIDY, (kind, kind)) for kind in types))

    async def of(self, event_type: str) -> AsyncIterator[list[Subscription]]:
        """Iterate over the subscriptions to a type, and then over those to any."""
        for kind in dict.fromkeys((event_type, "")):
            run, address = "", ""
            while rows := await self._tables.rows(_OF, kind, run, run, address, PAGE):
                page = [
                    Subscription(str(run_id), str(where), str(what), bytes(token))
                    for run_id, where, what, token in rows
                ]
                yield page
                run, address = page[-1].execution_id, page[-1].address


_conforms: type[Listeners] = TableListeners
