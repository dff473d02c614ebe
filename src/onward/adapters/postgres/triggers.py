"""Triggers and their firings in PostgreSQL, shared by any number of masters."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import msgspec
from asyncpg import Record

from onward.adapters.postgres.connection import PooledConnection, PostgresConnections
from onward.adapters.postgres.rows import columns
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

_CREATE = """
INSERT INTO run_trigger (trigger_id, workflow_id, kind, topic, revision, enabled, settings, secrets,
                         next_due_ms, created_ms, changed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT DO NOTHING RETURNING trigger_id
"""
_CHANGE = """
UPDATE run_trigger SET workflow_id = $2, kind = $3, topic = $4, revision = $5, enabled = $6,
       settings = $7, secrets = $8, next_due_ms = $9, changed_ms = $11
WHERE trigger_id = $1 AND revision = $5 - 1 AND created_ms = $10 RETURNING trigger_id
"""
_SECRETS = """
UPDATE run_trigger SET secrets = $3 WHERE trigger_id = $1 AND revision = $2 RETURNING trigger_id
"""
_REMOVE = "DELETE FROM run_trigger WHERE trigger_id = $1 AND revision = $2 RETURNING trigger_id"
_TRIGGER = "SELECT * FROM run_trigger WHERE trigger_id = $1"
_AT_PATH = "SELECT * FROM run_trigger WHERE kind = 'webhook' AND topic = $1"
_LIST = """
SELECT * FROM run_trigger
WHERE trigger_id > $1 AND ($2 = '' OR workflow_id = $2) AND ($3 = '' OR kind = $3)
ORDER BY trigger_id LIMIT $4
"""
_LISTENING = """
SELECT * FROM run_trigger
WHERE kind IN ('event', 'on') AND topic IN ($1, '') AND enabled AND trigger_id > $2
ORDER BY trigger_id LIMIT $3
"""
_DUE = "SELECT * FROM run_trigger WHERE next_due_ms <= $1 ORDER BY next_due_ms LIMIT $2"
_NEXT_DUE = "SELECT min(next_due_ms) FROM run_trigger WHERE next_due_ms IS NOT NULL"
_ADVANCE = """
UPDATE run_trigger SET next_due_ms = $4
WHERE trigger_id = $1 AND revision = $2 AND next_due_ms = $3 AND enabled RETURNING trigger_id
"""
_ADD = """
INSERT INTO firing (trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note,
                    input)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[],
                     $7::text[], $8::text[], $9::text[], $10::bytea[])
ON CONFLICT (trigger_id, key) DO NOTHING RETURNING key
"""
_FIRING = "SELECT * FROM firing WHERE trigger_id = $1 AND key = $2"
_UNSETTLED = """
SELECT DISTINCT trigger_id FROM firing WHERE state = 'waiting' AND trigger_id > $1
ORDER BY trigger_id LIMIT $2
"""
_LOCK = "SELECT enabled FROM run_trigger WHERE trigger_id = $1 FOR UPDATE"
_END = """
UPDATE firing SET state = 'ended'
WHERE trigger_id = $1 AND state = 'started' AND overlap <> 'allow' AND NOT EXISTS (
  SELECT FROM execution
  WHERE execution.execution_id = firing.execution_id AND execution.status = 'running')
"""
_ACTIVE = """
SELECT * FROM firing
WHERE trigger_id = $1 AND state IN ('starting', 'started') AND overlap <> 'allow'
ORDER BY due_ms, key LIMIT 1000
"""
_WAITING = """
SELECT * FROM firing WHERE trigger_id = $1 AND state = 'waiting' ORDER BY due_ms, key LIMIT 1000
"""
_DECIDE = "UPDATE firing SET state = $3, note = $4 WHERE trigger_id = $1 AND key = $2"
_STARTING = "SELECT * FROM firing WHERE state = 'starting' AND at_ms <= $1 ORDER BY at_ms LIMIT $2"
_MARK = """
UPDATE firing SET state = $3, note = $4, input = NULL
WHERE trigger_id = $1 AND key = $2 AND state = 'starting'
"""
_ORIGIN = """
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
    SELECT FROM execution
    WHERE execution.execution_id = firing.execution_id AND execution.status = 'running'))
"""


class PostgresTriggers(PostgresConnections):
    """A `Triggers` that any number of masters share."""

    async def save(self, trigger: Trigger) -> bool:
        """Write a trigger when the one before it is there, and its path is free."""
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
        async with self.connection() as db:
            try:
                statement = _CREATE if trigger.revision == 1 else _CHANGE
                return await db.fetchval(statement, *values) is not None
            except asyncpg.UniqueViolationError:  # the path of another
                return False

    async def keep_secrets(self, trigger: Trigger, secrets: Sequence[str]) -> bool:
        """Replace how secrets are kept."""
        values = (trigger.trigger_id, trigger.revision, " ".join(secrets))
        async with self.connection() as db:
            return await db.fetchval(_SECRETS, *values) is not None

    async def remove(self, trigger_id: str, revision: int) -> bool:
        """Drop a trigger at a revision, with its firings."""
        async with self.connection() as db, db.transaction():
            if await db.fetchval(_REMOVE, trigger_id, revision) is None:
                return False
            await db.execute("DELETE FROM firing WHERE trigger_id = $1", trigger_id)
        return True

    async def trigger(self, trigger_id: str) -> Trigger | None:
        """Return one trigger."""
        return await self._one(_TRIGGER, trigger_id)

    async def at_path(self, path: str) -> Trigger | None:
        """Return the webhook at a path."""
        return await self._one(_AT_PATH, path)

    async def triggers(self, query: TriggerQuery) -> list[Trigger]:
        """Return a page of triggers."""
        return await self._some(_LIST, query.after, query.workflow_id, query.kind, query.limit)

    async def listening(self, event_type: str, *, after: str, limit: int) -> list[Trigger]:
        """Return a page of enabled triggers that may look for events of a type."""
        return await self._some(_LISTENING, event_type, after, limit)

    async def due(self, now_ms: int, limit: int) -> list[Trigger]:
        """Return schedules whose time has come."""
        return await self._some(_DUE, now_ms, limit)

    async def next_due(self) -> int | None:
        """Return when the next schedule is due."""
        async with self.connection() as db:
            found: int | None = await db.fetchval(_NEXT_DUE)
        return found

    async def advance(self, trigger: Trigger, to_ms: int | None, firings: Sequence[Firing]) -> bool:
        """Move a schedule on and note its firings, in one transaction."""
        place = (trigger.trigger_id, trigger.revision, trigger.next_due_ms, to_ms)
        async with self.connection() as db, db.transaction():
            if await db.fetchval(_ADVANCE, *place) is None:
                return False
            if firings:
                await db.execute(_ADD, *_columns(firings))
        return True

    async def record(self, firing: Firing) -> Firing:
        """Note a firing, unless there is one with its key; return the one that is there."""
        async with self.connection() as db, db.transaction():
            if await db.fetch(_ADD, *_columns([firing])):
                return firing
            row = await db.fetchrow(_FIRING, firing.trigger_id, firing.key)
        return Firing(**row) if row else firing

    async def add(self, firings: Sequence[Firing]) -> int:
        """Note firings that are not there yet; return how many those were."""
        async with self.connection() as db:
            return len(await db.fetch(_ADD, *_columns(firings))) if firings else 0

    async def unsettled(self, *, after: str, limit: int) -> list[str]:
        """Return triggers of which a firing waits."""
        async with self.connection() as db:
            return [row[0] for row in await db.fetch(_UNSETTLED, after, limit)]

    async def settle(self, trigger_id: str, decide: Decide) -> Verdict:
        """Decide about the firings that wait, while nobody else does."""
        async with self.connection() as db, db.transaction():
            enabled = await db.fetchval(_LOCK, trigger_id)
            await db.execute(_END, trigger_id)
            active = await db.fetch(_ACTIVE, trigger_id)
            waiting = await db.fetch(_WAITING, trigger_id)
            verdict = decide(
                Standing(
                    enabled=bool(enabled),
                    active=tuple(Firing(**row) for row in active),
                    waiting=tuple(Firing(**row) for row in waiting),
                )
            )
            await _write(db, verdict)
        return verdict

    async def starting(self, before_ms: int, limit: int) -> list[Firing]:
        """Return firings that should have started by now."""
        async with self.connection() as db:
            return [Firing(**row) for row in await db.fetch(_STARTING, before_ms, limit)]

    async def mark(self, firing: Firing, state: FiringState, note: str = "") -> None:
        """Note what became of a firing that was to start."""
        async with self.connection() as db, db.transaction():
            await db.execute(_MARK, firing.trigger_id, firing.key, state, note)
            await db.execute(_ORIGIN, firing.trigger_id, firing.key)

    async def origins(self, execution_ids: Sequence[str]) -> list[Origin]:
        """Return which trigger started each of some runs."""
        async with self.connection() as db:
            rows = await db.fetch(_ORIGINS, list(execution_ids))
        return [Origin(**row) for row in rows]

    async def firing(self, trigger_id: str, key: str) -> Firing | None:
        """Return one firing."""
        async with self.connection() as db:
            row = await db.fetchrow(_FIRING, trigger_id, key)
        return Firing(**row) if row else None

    async def firings(
        self, trigger_id: str, *, before: tuple[int, str], limit: int
    ) -> list[Firing]:
        """Return a page of firings, newest first."""
        async with self.connection() as db:
            rows = await db.fetch(_FIRINGS, trigger_id, *before, limit)
        return [Firing(**row) for row in rows]

    async def drop_firings(self, before_ms: int) -> None:
        """Forget firings that were noted before a moment, are decided and hold up no other."""
        async with self.connection() as db:
            await db.execute(_DROP, before_ms)

    async def _one(self, statement: str, *values: object) -> Trigger | None:
        return next(iter(await self._some(statement, *values)), None)

    async def _some(self, statement: str, *values: object) -> list[Trigger]:
        async with self.connection() as db:
            return [_trigger(row) for row in await db.fetch(statement, *values)]


async def _write(db: PooledConnection, verdict: Verdict) -> None:
    for one in verdict.start:
        await db.execute(_DECIDE, one.trigger_id, one.key, "starting", "")
    for one in verdict.skip:
        await db.execute(_DECIDE, one.trigger_id, one.key, "skipped", one.note)


def _columns(firings: Sequence[Firing]) -> list[list[object]]:
    return [
        list(column) for column in columns(msgspec.structs.astuple(firing) for firing in firings)
    ]


def _trigger(row: Record) -> Trigger:
    return Trigger(
        trigger_id=row["trigger_id"],
        workflow_id=row["workflow_id"],
        revision=row["revision"],
        enabled=row["enabled"],
        settings=msgspec.json.decode(row["settings"], type=Settings),
        secrets=tuple(row["secrets"].split()),
        next_due_ms=row["next_due_ms"],
        created_ms=row["created_ms"],
        changed_ms=row["changed_ms"],
    )


_conforms: type[Triggers] = PostgresTriggers
