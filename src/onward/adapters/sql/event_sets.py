"""Events that wait for others which belong to them, in tables."""

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
    """`Gatherings` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def read(self, trigger_id: str) -> CollectedEvents:
        """Return what is open of a trigger."""
        for revision, content in await self._tables.rows(_READ, trigger_id):
            return CollectedEvents(revision=int(revision), open=_content.decode(bytes(content)))
        return CollectedEvents()

    async def knows(self, trigger_id: str, event_key: str) -> bool:
        """Return whether an event has joined already."""
        return bool(await self._tables.rows(_KNOWS, trigger_id, event_key))

    async def events(self, trigger_id: str, name: str) -> list[Mapping[str, Any]]:
        """Return the events of a gathering that is open, in the order they came."""
        rows = await self._tables.rows(_EVENTS, trigger_id, name)
        return [msgspec.json.decode(bytes(content)) for (content,) in rows]

    async def join(self, joining: EventJoin) -> bool:
        """Write what an event changes, with what it starts, unless somebody else came first."""
        one, after = joining, joining.after
        # The number of the change is the event's place: later events come with higher ones.
        event = (one.trigger_id, one.event_key, one.name, after.revision, one.event, one.at_ms)
        steps: list[Step] = [(_ADD, event)]
        if one.firing is not None:
            steps.append((_FIRE, msgspec.structs.astuple(one.firing)))
            steps.append((_EMPTY, (one.trigger_id, one.name)))
        content = msgspec.json.encode(after.open)
        changed = await self._tables.change(
            (_WRITE, (one.trigger_id, after.revision, content)), *steps
        )
        return changed == 1

    async def drop(self, trigger_id: str) -> None:
        """Forget everything of a trigger."""
        await self._tables.change((_DROP, (trigger_id,)), (_DROP_EVENTS_OF, (trigger_id,)))

    async def drop_events(self, before_ms: int) -> None:
        """Forget events that came before a moment."""
        await self._tables.change((_DROP_EVENTS, (before_ms,)))


_conforms: type[EventSets] = TableEventSets
