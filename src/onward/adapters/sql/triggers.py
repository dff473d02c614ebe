"""Triggers and their firings, in three tables that any number of masters share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple

from onward.adapters.sql.database import DuplicateError, Row, SqlDatabase, Step, Steps
from onward.adapters.sql.rows import read_struct
from onward.ports.storage.triggers import (
    Decide,
    Firing,
    FiringState,
    Origin,
    Settings,
    Standing,
    Trigger,
    TriggerQuery,
    Triggers,
    Verdict,
)

FIRINGS_AT_ONCE = 100
"""Firings that one statement adds."""

_CREATE = """
INSERT INTO run_trigger (trigger_id, workflow_id, kind, topic, revision, enabled, settings, secrets,
                         next_due_ms, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT DO NOTHING
"""
_CHANGE = """
UPDATE run_trigger SET workflow_id = $2, kind = $3, topic = $4, revision = $5, enabled = $6,
       settings = $7, secrets = $8, next_due_ms = $9, changed_ms = $11
WHERE trigger_id = $1 AND revision = $5 - 1 AND created_ms = $10
"""
_SECRETS = "UPDATE run_trigger SET secrets = $3 WHERE trigger_id = $1 AND revision = $2"
_REMOVE = "DELETE FROM run_trigger WHERE trigger_id = $1 AND revision = $2"
_REMOVE_FIRINGS = "DELETE FROM firing WHERE trigger_id = $1"
_SELECT = """
SELECT trigger_id, workflow_id, revision, enabled, settings, secrets, next_due_ms, created_ms,
       changed_ms
FROM run_trigger
"""
_TRIGGER = f"{_SELECT} WHERE trigger_id = $1"
_AT_PATH = f"{_SELECT} WHERE kind = 'webhook' AND topic = $1"
_PAGE = f"""{_SELECT}
WHERE trigger_id > $1 AND ($2 = '' OR workflow_id = $2) AND ($3 = '' OR kind = $3)
ORDER BY trigger_id LIMIT $4
"""
_LISTENING = f"""{_SELECT}
WHERE kind IN ('event', 'on') AND topic IN ($1, '') AND enabled AND trigger_id > $2
ORDER BY trigger_id LIMIT $3
"""
_DUE = f"{_SELECT} WHERE next_due_ms <= $1 ORDER BY next_due_ms LIMIT $2"
_NEXT_DUE = "SELECT min(next_due_ms) FROM run_trigger WHERE next_due_ms IS NOT NULL"
_ADVANCE = """
UPDATE run_trigger SET next_due_ms = $4
WHERE trigger_id = $1 AND revision = $2 AND next_due_ms = $3 AND enabled RETURNING trigger_id
"""
_ADD = """
INSERT INTO firing (trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note,
                    input)
VALUES {places} ON CONFLICT (trigger_id, key) DO NOTHING RETURNING key
"""
_FIRING = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note, input
FROM firing WHERE trigger_id = $1 AND key = $2
"""
_UNSETTLED = """
SELECT DISTINCT trigger_id FROM firing WHERE state = 'waiting' AND trigger_id > $1
ORDER BY trigger_id LIMIT $2
"""
_LOCK = "SELECT enabled FROM run_trigger WHERE trigger_id = $1 FOR UPDATE"
_END = """
UPDATE firing SET state = 'ended'
WHERE trigger_id = $1 AND state = 'started' AND overlap <> 'allow' AND NOT EXISTS (
  SELECT 1 FROM execution
  WHERE execution.execution_id = firing.execution_id AND execution.status = 'running')
"""
_ACTIVE = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note, input FROM firing
WHERE trigger_id = $1 AND state IN ('starting', 'started') AND overlap <> 'allow'
ORDER BY due_ms, key LIMIT 1000
"""
_WAITING = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note, input FROM firing
WHERE trigger_id = $1 AND state = 'waiting' ORDER BY due_ms, key LIMIT 1000
"""
_DECIDE = "UPDATE firing SET state = $3, note = $4 WHERE trigger_id = $1 AND key = $2"
_STARTING = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note, input FROM firing
WHERE state = 'starting' AND at_ms <= $1 ORDER BY at_ms LIMIT $2
"""
_MARK = """
UPDATE firing SET state = $3, note = $4, input = NULL
WHERE trigger_id = $1 AND key = $2 AND state = 'starting'
"""
_ADD_ORIGIN = """
INSERT INTO run_origin (execution_id, trigger_id, kind)
SELECT execution_id, trigger_id, kind FROM firing JOIN run_trigger USING (trigger_id)
WHERE trigger_id = $1 AND key = $2 AND state = 'started' ON CONFLICT DO NOTHING
"""
_ORIGINS = """
SELECT execution_id, trigger_id, kind FROM run_origin WHERE execution_id = ANY ($1::text[])
"""
_FIRINGS = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note FROM firing
WHERE trigger_id = $1 AND (at_ms, key) < ($2, $3) ORDER BY at_ms DESC, key DESC LIMIT $4
"""
_DROP = """
DELETE FROM firing WHERE at_ms < $1 AND state NOT IN ('waiting', 'starting')
  AND NOT (state = 'started' AND overlap <> 'allow' AND EXISTS (
    SELECT 1 FROM execution
    WHERE execution.execution_id = firing.execution_id AND execution.status = 'running'))
"""


class TableTriggers:
    """`Triggers` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def save(self, trigger: Trigger) -> bool:
        values = (
            trigger.trigger_id,
            trigger.workflow_id,
            trigger.settings.kind,
            trigger.topic,
            trigger.revision,
            trigger.enabled,
            msgspec.json.encode(trigger.settings),
            " ".join(trigger.secrets),
            trigger.next_due_ms,
            trigger.created_ms,
            trigger.changed_ms,
        )
        try:
            return await self._change(_CREATE if trigger.revision == 1 else _CHANGE, *values)
        except DuplicateError:  # the path of another
            return False

    async def keep_secrets(self, trigger: Trigger, secrets: Sequence[str]) -> bool:
        name, revision = trigger.trigger_id, trigger.revision
        return await self._change(_SECRETS, name, revision, " ".join(secrets))

    async def remove(self, trigger_id: str, revision: int) -> bool:
        firings = (_REMOVE_FIRINGS, (trigger_id,))
        return await self._tables.change((_REMOVE, (trigger_id, revision)), firings) == 1

    async def trigger(self, trigger_id: str) -> Trigger | None:
        return next(iter(await self._triggers(_TRIGGER, trigger_id)), None)

    async def at_path(self, path: str) -> Trigger | None:
        return next(iter(await self._triggers(_AT_PATH, path)), None)

    async def triggers(self, query: TriggerQuery) -> list[Trigger]:
        return await self._triggers(_PAGE, query.after, query.workflow_id, query.kind, query.limit)

    async def listening(self, event_type: str, *, after: str, limit: int) -> list[Trigger]:
        return await self._triggers(_LISTENING, event_type, after, limit)

    async def due(self, now_ms: int, limit: int) -> list[Trigger]:
        return await self._triggers(_DUE, now_ms, limit)

    async def next_due(self) -> int | None:
        ((due_ms,),) = await self._tables.rows(_NEXT_DUE)
        return None if due_ms is None else int(due_ms)

    async def advance(self, trigger: Trigger, to_ms: int | None, firings: Sequence[Firing]) -> bool:
        position = (trigger.trigger_id, trigger.revision, trigger.next_due_ms, to_ms)

        def steps() -> Steps[bool]:
            if not (yield _ADVANCE, position):
                return False
            yield from _additions(firings)
            return True

        return await self._tables.transact(steps())

    async def record(self, firing: Firing) -> Firing:
        def steps() -> Steps[Firing]:
            yield from _additions([firing])
            for row in (yield _FIRING, (firing.trigger_id, firing.key)):
                return read_struct(Firing, row)
            return firing

        return await self._tables.transact(steps())

    async def add(self, firings: Sequence[Firing]) -> int:
        def steps() -> Steps[int]:
            added = 0
            for addition in _additions(firings):
                added += len((yield addition))
            return added

        return await self._tables.transact(steps()) if firings else 0

    async def unsettled(self, *, after: str, limit: int) -> list[str]:
        return [name for (name,) in await self._tables.rows(_UNSETTLED, after, limit)]

    async def settle(self, trigger_id: str, decide: Decide) -> Verdict:
        def steps() -> Steps[Verdict]:
            trigger = (trigger_id,)
            enabled = yield _LOCK, trigger
            yield _END, trigger
            active = yield _ACTIVE, trigger
            waiting = yield _WAITING, trigger
            verdict = decide(
                Standing(
                    enabled=bool(enabled and enabled[0][0]),
                    active=tuple(read_struct(Firing, row) for row in active),
                    waiting=tuple(read_struct(Firing, row) for row in waiting),
                )
            )
            for firing in verdict.start:
                yield _DECIDE, (firing.trigger_id, firing.key, "starting", "")
            for firing in verdict.skip:
                yield _DECIDE, (firing.trigger_id, firing.key, "skipped", firing.note)
            return verdict

        return await self._tables.transact(steps())

    async def starting(self, before_ms: int, limit: int) -> list[Firing]:
        return await self._firings(_STARTING, before_ms, limit)

    async def mark(self, firing: Firing, state: FiringState, note: str = "") -> None:
        def steps() -> Steps[None]:
            yield _MARK, (firing.trigger_id, firing.key, state, note)
            yield _ADD_ORIGIN, (firing.trigger_id, firing.key)

        await self._tables.transact(steps())

    async def origins(self, execution_ids: Sequence[str]) -> list[Origin]:
        return [Origin(*row) for row in await self._tables.rows(_ORIGINS, list(execution_ids))]

    async def firing(self, trigger_id: str, key: str) -> Firing | None:
        return next(iter(await self._firings(_FIRING, trigger_id, key)), None)

    async def firings(
        self, trigger_id: str, *, before: tuple[int, str], limit: int
    ) -> list[Firing]:
        return await self._firings(_FIRINGS, trigger_id, *before, limit)

    async def drop_firings(self, before_ms: int) -> None:
        await self._tables.rows(_DROP, before_ms)

    async def _change(self, statement: str, *values: Any) -> bool:
        return await self._tables.change((statement, values)) == 1

    async def _triggers(self, statement: str, *values: Any) -> list[Trigger]:
        return [_trigger(row) for row in await self._tables.rows(statement, *values)]

    async def _firings(self, statement: str, *values: Any) -> list[Firing]:
        return [read_struct(Firing, row) for row in await self._tables.rows(statement, *values)]


def _additions(firings: Sequence[Firing]) -> Iterator[Step]:
    """Yield the steps that add firings which are not there yet."""
    width = len(Firing.__struct_fields__)
    for start in range(0, len(firings), FIRINGS_AT_ONCE):
        page = firings[start : start + FIRINGS_AT_ONCE]
        values = [value for firing in page for value in astuple(firing)]
        numbers = [f"${number}" for number in range(1, len(values) + 1)]
        rows = [numbers[place : place + width] for place in range(0, len(numbers), width)]
        places = ", ".join(f"({', '.join(row)})" for row in rows)
        yield _ADD.format(places=places), tuple(values)


def _trigger(row: Row) -> Trigger:
    trigger_id, workflow_id, revision, enabled, settings, secrets, *times = row
    next_due_ms, created_ms, changed_ms = times
    return Trigger(
        trigger_id=trigger_id,
        workflow_id=workflow_id,
        revision=revision,
        enabled=bool(enabled),
        settings=msgspec.json.decode(settings, type=Settings),
        secrets=tuple(secrets.split()),
        next_due_ms=next_due_ms,
        created_ms=created_ms,
        changed_ms=changed_ms,
    )


_conforms: type[Triggers] = TableTriggers
