"""Triggers and their firings, in the file of the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from onward.adapters.sqlite.connection import SqliteConnection, transaction
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

_CREATE = "INSERT INTO run_trigger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_CHANGE = """
UPDATE run_trigger SET workflow_id = ?2, kind = ?3, topic = ?4, revision = ?5, enabled = ?6,
       settings = ?7, secrets = ?8, next_due_ms = ?9, changed_ms = ?11
WHERE trigger_id = ?1 AND revision = ?5 - 1 AND created_ms = ?10
"""
_SECRETS = "UPDATE run_trigger SET secrets = ?3 WHERE trigger_id = ?1 AND revision = ?2"
_REMOVE = "DELETE FROM run_trigger WHERE trigger_id = ? AND revision = ?"
_TRIGGER = "SELECT * FROM run_trigger WHERE trigger_id = ?"
_AT_PATH = "SELECT * FROM run_trigger WHERE kind = 'webhook' AND topic = ?"
_LIST = """
SELECT * FROM run_trigger
WHERE trigger_id > ?1 AND (?2 = '' OR workflow_id = ?2) AND (?3 = '' OR kind = ?3)
ORDER BY trigger_id LIMIT ?4
"""
_LISTENING = """
SELECT * FROM run_trigger
WHERE kind IN ('event', 'on') AND topic IN (?, '') AND enabled AND trigger_id > ?
ORDER BY trigger_id LIMIT ?
"""
_DUE = "SELECT * FROM run_trigger WHERE next_due_ms <= ? ORDER BY next_due_ms LIMIT ?"
_NEXT_DUE = "SELECT min(next_due_ms) FROM run_trigger WHERE next_due_ms IS NOT NULL"
_ADVANCE = """
UPDATE run_trigger SET next_due_ms = ?4
WHERE trigger_id = ?1 AND revision = ?2 AND next_due_ms = ?3 AND enabled
"""
_ADD = "INSERT INTO firing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FIRING = "SELECT * FROM firing WHERE trigger_id = ? AND key = ?"
_UNSETTLED = """
SELECT DISTINCT trigger_id FROM firing WHERE state = 'waiting' AND trigger_id > ?
ORDER BY trigger_id LIMIT ?
"""
_ENABLED = "SELECT enabled FROM run_trigger WHERE trigger_id = ?"
_END = """
UPDATE firing SET state = 'ended'
WHERE trigger_id = ? AND state = 'started' AND overlap <> 'allow' AND NOT EXISTS (
  SELECT 1 FROM execution
  WHERE execution.execution_id = firing.execution_id AND execution.status = 'running')
"""
_ACTIVE = """
SELECT * FROM firing
WHERE trigger_id = ? AND state IN ('starting', 'started') AND overlap <> 'allow'
ORDER BY due_ms, key LIMIT 1000
"""
_WAITING = """
SELECT * FROM firing WHERE trigger_id = ? AND state = 'waiting' ORDER BY due_ms, key LIMIT 1000
"""
_DECIDE = "UPDATE firing SET state = ?3, note = ?4 WHERE trigger_id = ?1 AND key = ?2"
_STARTING = "SELECT * FROM firing WHERE state = 'starting' AND at_ms <= ? ORDER BY at_ms LIMIT ?"
_MARK = """
UPDATE firing SET state = ?3, note = ?4, input = NULL
WHERE trigger_id = ?1 AND key = ?2 AND state = 'starting'
"""
_ORIGIN = """
INSERT OR IGNORE INTO run_origin
SELECT execution_id, trigger_id, kind FROM firing JOIN run_trigger USING (trigger_id)
WHERE trigger_id = ? AND key = ? AND state = 'started'
"""
_ORIGINS = """
SELECT execution_id, trigger_id, kind FROM run_origin
WHERE execution_id IN (SELECT value FROM json_each(?))
"""
_FIRINGS = """
SELECT trigger_id, key, cause, due_ms, at_ms, execution_id, state, overlap, note, NULL FROM firing
WHERE trigger_id = ?1 AND (at_ms, key) < (?2, ?3) ORDER BY at_ms DESC, key DESC LIMIT ?4
"""
_DROP = """
DELETE FROM firing WHERE at_ms < ? AND state NOT IN ('waiting', 'starting')
  AND NOT (state = 'started' AND overlap <> 'allow' AND EXISTS (
    SELECT 1 FROM execution
    WHERE execution.execution_id = firing.execution_id AND execution.status = 'running'))
"""


class SqliteTriggers:
    """A `Triggers` beside the runs of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
        self._file = file

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

        def work(db: sqlite3.Connection) -> bool:
            try:
                statement = _CREATE if trigger.revision == 1 else _CHANGE
                return db.execute(statement, values).rowcount == 1
            except sqlite3.IntegrityError:  # the path of another
                return False

        return await self._file.do(work)

    async def keep_secrets(self, trigger: Trigger, secrets: Sequence[str]) -> bool:
        """Replace how secrets are kept."""
        values = (trigger.trigger_id, trigger.revision, " ".join(secrets))
        return await self._file.do(lambda db: db.execute(_SECRETS, values).rowcount == 1)

    async def remove(self, trigger_id: str, revision: int) -> bool:
        """Drop a trigger at a revision, with its firings."""

        def work(db: sqlite3.Connection) -> bool:
            with transaction(db):
                if db.execute(_REMOVE, (trigger_id, revision)).rowcount != 1:
                    return False
                db.execute("DELETE FROM firing WHERE trigger_id = ?", (trigger_id,))
            return True

        return await self._file.do(work)

    async def trigger(self, trigger_id: str) -> Trigger | None:
        """Return one trigger."""
        return next(iter(await self._triggers(_TRIGGER, trigger_id)), None)

    async def at_path(self, path: str) -> Trigger | None:
        """Return the webhook at a path."""
        return next(iter(await self._triggers(_AT_PATH, path)), None)

    async def triggers(self, query: TriggerQuery) -> list[Trigger]:
        """Return a page of triggers."""
        return await self._triggers(_LIST, query.after, query.workflow_id, query.kind, query.limit)

    async def listening(self, event_type: str, *, after: str, limit: int) -> list[Trigger]:
        """Return a page of enabled triggers that may look for events of a type."""
        return await self._triggers(_LISTENING, event_type, after, limit)

    async def due(self, now_ms: int, limit: int) -> list[Trigger]:
        """Return schedules whose time has come."""
        return await self._triggers(_DUE, now_ms, limit)

    async def next_due(self) -> int | None:
        """Return when the next schedule is due."""
        ((found,),) = await self._rows(_NEXT_DUE)
        return None if found is None else int(found)

    async def advance(self, trigger: Trigger, to_ms: int | None, firings: Sequence[Firing]) -> bool:
        """Move a schedule on and note its firings, in one transaction."""
        place = (trigger.trigger_id, trigger.revision, trigger.next_due_ms, to_ms)

        def work(db: sqlite3.Connection) -> bool:
            with transaction(db):
                if db.execute(_ADVANCE, place).rowcount != 1:
                    return False
                db.executemany(_ADD, map(msgspec.structs.astuple, firings))
            return True

        return await self._file.do(work)

    async def record(self, firing: Firing) -> Firing:
        """Note a firing, unless there is one with its key; return the one that is there."""

        def work(db: sqlite3.Connection) -> Firing:
            with transaction(db):
                db.execute(_ADD, msgspec.structs.astuple(firing))
                return _firing(db.execute(_FIRING, (firing.trigger_id, firing.key)).fetchone())

        return await self._file.do(work)

    async def add(self, firings: Sequence[Firing]) -> int:
        """Note firings that are not there yet; return how many those were."""

        def work(db: sqlite3.Connection) -> int:
            with transaction(db):
                rows = map(msgspec.structs.astuple, firings)
                return sum(db.execute(_ADD, row).rowcount for row in rows)

        return await self._file.do(work)

    async def unsettled(self, *, after: str, limit: int) -> list[str]:
        """Return triggers of which a firing waits."""
        return [row[0] for row in await self._rows(_UNSETTLED, after, limit)]

    async def settle(self, trigger_id: str, decide: Decide) -> Verdict:
        """Decide about the firings that wait, while nobody else does."""

        def work(db: sqlite3.Connection) -> Verdict:
            this = (trigger_id,)
            with transaction(db):
                enabled = db.execute(_ENABLED, this).fetchone()
                db.execute(_END, this)
                standing = Standing(
                    enabled=bool(enabled and enabled[0]),
                    active=tuple(map(_firing, db.execute(_ACTIVE, this))),
                    waiting=tuple(map(_firing, db.execute(_WAITING, this))),
                )
                verdict = decide(standing)
                for one in verdict.start:
                    db.execute(_DECIDE, (one.trigger_id, one.key, "starting", ""))
                for one in verdict.skip:
                    db.execute(_DECIDE, (one.trigger_id, one.key, "skipped", one.note))
            return verdict

        return await self._file.do(work)

    async def starting(self, before_ms: int, limit: int) -> list[Firing]:
        """Return firings that should have started by now."""
        return [_firing(row) for row in await self._rows(_STARTING, before_ms, limit)]

    async def mark(self, firing: Firing, state: FiringState, note: str = "") -> None:
        """Note what became of a firing that was to start."""
        name = (firing.trigger_id, firing.key)

        def work(db: sqlite3.Connection) -> None:
            with transaction(db):
                db.execute(_MARK, (*name, state, note))
                db.execute(_ORIGIN, name)

        await self._file.do(work)

    async def origins(self, execution_ids: Sequence[str]) -> list[Origin]:
        """Return which trigger started each of some runs."""
        names = msgspec.json.encode(list(execution_ids)).decode()
        return [Origin(*row) for row in await self._rows(_ORIGINS, names)]

    async def firing(self, trigger_id: str, key: str) -> Firing | None:
        """Return one firing."""
        rows = await self._rows(_FIRING, trigger_id, key)
        return _firing(rows[0]) if rows else None

    async def firings(
        self, trigger_id: str, *, before: tuple[int, str], limit: int
    ) -> list[Firing]:
        """Return a page of firings, newest first."""
        return [_firing(row) for row in await self._rows(_FIRINGS, trigger_id, *before, limit)]

    async def drop_firings(self, before_ms: int) -> None:
        """Forget firings that were noted before a moment, are decided and hold up no other."""
        await self._rows(_DROP, before_ms)

    async def _triggers(self, statement: str, *values: Any) -> list[Trigger]:
        return [_trigger(row) for row in await self._rows(statement, *values)]

    async def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return await self._file.do(lambda db: db.execute(statement, values).fetchall())


def _firing(row: tuple[Any, ...]) -> Firing:
    names = Firing.__struct_fields__
    return Firing(**dict(zip(names, row, strict=True)))


def _trigger(row: tuple[Any, ...]) -> Trigger:
    name, workflow, _kind, _topic, revision, enabled, settings, secrets, due, created, changed = row
    return Trigger(
        trigger_id=name,
        workflow_id=workflow,
        revision=revision,
        enabled=bool(enabled),
        settings=msgspec.json.decode(settings, type=Settings),
        secrets=tuple(secrets.split()),
        next_due_ms=due,
        created_ms=created,
        changed_ms=changed,
    )


_conforms: type[Triggers] = SqliteTriggers
