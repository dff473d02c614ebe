"""Event sets: events that wait for others of their set, in two tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onward.adapters.sql.database import SqlDatabase, Step
from onward.ports.storage.event_sets import CollectedEvents, EventJoin, EventSet, EventSets

_READ = "SELECT revision, content FROM gathering WHERE trigger_id = $1"
_KNOWS = "SELECT 1 FROM gathered_event WHERE trigger_id = $1 AND event_key = $2"
_EVENTS = """
SELECT content FROM gathered_event
WHERE trigger_id = $1 AND gathering = $2 AND content IS NOT NULL ORDER BY place
"""
_WRITE = """
INSERT INTO gathering (trigger_id, revision, content) VALUES ($1, $2, $3)
ON CONFLICT (trigger_id) DO UPDATE SET revision = excluded.revision, content = excluded.content
WHERE gathering.revision = excluded.revision - 1
"""
_ADD = """
INSERT INTO gathered_event (trigger_id, event_key, gathering, place, content, at_ms)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (trigger_id, event_key) DO NOTHING
"""
_EMPTY = "UPDATE gathered_event SET content = NULL WHERE trigger_id = $1 AND gathering = $2"
_FIRE = """
INSERT INTO firing (trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note,
                    input)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (trigger_id, key) DO NOTHING
"""
_DROP = "DELETE FROM gathering WHERE trigger_id = $1"
_DROP_EVENTS_OF = "DELETE FROM gathered_event WHERE trigger_id = $1"
_DROP_EVENTS = "DELETE FROM gathered_event WHERE at_ms < $1"

_content = msgspec.json.Decoder(tuple[EventSet, ...])


class TableEventSets:
    """`EventSets` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def read(self, trigger_id: str) -> CollectedEvents:
        for revision, content in await self._tables.rows(_READ, trigger_id):
            return CollectedEvents(revision=int(revision), open=_content.decode(bytes(content)))
        return CollectedEvents()

    async def knows(self, trigger_id: str, event_key: str) -> bool:
        return bool(await self._tables.rows(_KNOWS, trigger_id, event_key))

    async def events(self, trigger_id: str, name: str) -> list[Mapping[str, Any]]:
        rows = await self._tables.rows(_EVENTS, trigger_id, name)
        return [msgspec.json.decode(bytes(content)) for (content,) in rows]

    async def join(self, joining: EventJoin) -> bool:
        trigger_id, name, after = joining.trigger_id, joining.name, joining.after
        # The number of the change is the event's place: later events have higher ones.
        place, content = after.revision, msgspec.json.encode(after.open)
        event = (trigger_id, joining.event_key, name, place, joining.event, joining.at_ms)
        steps: list[Step] = [(_ADD, event)]
        if joining.firing is not None:
            steps.append((_FIRE, msgspec.structs.astuple(joining.firing)))
            steps.append((_EMPTY, (trigger_id, name)))
        return await self._tables.change((_WRITE, (trigger_id, place, content)), *steps) == 1

    async def drop(self, trigger_id: str) -> None:
        await self._tables.change((_DROP, (trigger_id,)), (_DROP_EVENTS_OF, (trigger_id,)))

    async def drop_events(self, before_ms: int) -> None:
        await self._tables.change((_DROP_EVENTS, (before_ms,)))


_conforms: type[EventSets] = TableEventSets
