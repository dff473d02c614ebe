"""Start rules and parked runs, in two tables. Every key is changed by one process at a time.

The two databases lock a key and end a parked run in their own words: `SqliteStartRules` and
`PostgresStartRules` say which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec
from msgspec.structs import astuple

from onward.adapters.sql.database import SqlDatabase, Steps
from onward.adapters.sql.rows import read_struct
from onward.adapters.sql.workflows import SAVE_DEFINITION
from onward.kernel.messages import CompletionMessage
from onward.kernel.records import Definition
from onward.ports.storage.start_rules import AGAIN_MS, Ahead, ParkedRun, StartRule, room_of

_RULE = "SELECT rule FROM flow_rule WHERE workflow_id = $1"
_SET_RULE = """
INSERT INTO flow_rule (workflow_id, rule) VALUES ($1, $2)
ON CONFLICT (workflow_id) DO UPDATE SET rule = excluded.rule
"""
_DROP_RULE = "DELETE FROM flow_rule WHERE workflow_id = $1"
_ALIVE = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND (status IS NULL OR status = 'running') ORDER BY place LIMIT 1
"""
_PARK = """
INSERT INTO flow_run (execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (execution_id) DO NOTHING
"""
_PARKED = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND status IS NULL AND released_ms IS NULL ORDER BY place DESC
"""
_CLEAN = """
DELETE FROM flow_run WHERE flow_key = $1 AND coalesce(released_ms, 0) < $2 AND EXISTS (
  SELECT 1 FROM execution
  WHERE execution.execution_id = flow_run.execution_id AND execution.ended_ms IS NOT NULL)
"""
_COUNTS = """
SELECT count(*) FILTER (WHERE status IS NULL OR status = 'running'),
       count(*) FILTER (WHERE released_ms > $2)
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND released_ms IS NOT NULL
"""
_RELEASE = """
UPDATE flow_run SET released_ms = $2
WHERE place IN (
  SELECT place FROM flow_run LEFT JOIN execution USING (execution_id)
  WHERE flow_key = $1 AND released_ms IS NULL AND due_ms <= $2 AND status IS NULL
  ORDER BY place LIMIT $3)
RETURNING execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start, place
"""
_RELEASE_AGAIN = """
UPDATE flow_run SET released_ms = $2
WHERE place IN (
  SELECT place FROM flow_run LEFT JOIN execution USING (execution_id)
  WHERE flow_key = $1 AND released_ms < $3 AND status IS NULL)
RETURNING execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start, place
"""
_WAITING = """
SELECT DISTINCT flow_run.workflow_id, flow_key
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE due_ms <= $1 AND status IS NULL
"""
_AHEAD = """
SELECT (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
        WHERE other.flow_key = flow_run.flow_key AND released_ms IS NOT NULL
          AND (status IS NULL OR status = 'running')),
       (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
        WHERE other.flow_key = flow_run.flow_key AND released_ms IS NULL
          AND other.place < flow_run.place AND status IS NULL),
       due_ms
FROM flow_run WHERE execution_id = $1
"""
_KEY = "SELECT flow_key FROM flow_run WHERE execution_id = $1"

_rules = msgspec.json.Decoder(StartRule)


class TableStartRules(ABC):
    """`StartRules` in a database, but for what the two databases do differently."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    @abstractmethod
    def _lock(self, flow_key: str) -> Steps[None]:
        """Wait until this transaction is alone with a key."""

    @abstractmethod
    def _end(self, completion: CompletionMessage, now_ms: int) -> Steps[bool]:
        """End a run that is still parked, with its events; False: it is not parked."""

    async def rule(self, workflow_id: str) -> StartRule | None:
        rows = await self._tables.rows(_RULE, workflow_id)
        return _rules.decode(rows[0][0]) if rows else None

    async def set_rule(self, workflow_id: str, rule: StartRule | None) -> None:
        if rule is None:
            await self._tables.rows(_DROP_RULE, workflow_id)
        else:
            await self._tables.rows(_SET_RULE, workflow_id, msgspec.json.encode(rule))

    async def park(self, parked: ParkedRun, rule: StartRule, definition: Definition) -> str | None:
        def steps() -> Steps[str | None]:
            yield from self._lock(parked.flow_key)
            if rule.singleton:
                for (alive,) in (yield _ALIVE, (parked.flow_key,)):
                    if alive != parked.execution_id:
                        return str(alive)
            yield SAVE_DEFINITION, tuple(definition)
            yield _PARK, astuple(parked)
            return None

        return await self._tables.transact(steps())

    async def older(self, flow_key: str) -> list[str]:
        return [name for (name,) in await self._tables.rows(_PARKED, flow_key)][1:]

    async def let_go(self, flow_key: str, rule: StartRule, now_ms: int) -> list[ParkedRun]:
        def steps() -> Steps[list[ParkedRun]]:
            yield from self._lock(flow_key)
            since_ms = now_ms - rule.per_ms
            yield _CLEAN, (flow_key, since_ms)
            ((running, recent),) = yield _COUNTS, (flow_key, since_ms)
            rows = yield _RELEASE_AGAIN, (flow_key, now_ms, now_ms - AGAIN_MS)
            room = room_of(rule, running, recent)
            if room:
                rows += yield _RELEASE, (flow_key, now_ms, room)
            return [read_struct(ParkedRun, row) for row in sorted(rows, key=lambda row: row[-1])]

        return await self._tables.transact(steps())

    async def waiting(self, now_ms: int) -> list[tuple[str, str]]:
        return [(workflow, key) for workflow, key in await self._tables.rows(_WAITING, now_ms)]

    async def drop(self, completion: CompletionMessage, now_ms: int) -> bool:
        def steps() -> Steps[bool]:
            for (flow_key,) in (yield _KEY, (completion.execution_id,)):
                yield from self._lock(flow_key)
                return (yield from self._end(completion, now_ms))
            return False

        return await self._tables.transact(steps())

    async def ahead(self, execution_id: str) -> Ahead | None:
        rows = await self._tables.rows(_AHEAD, execution_id)
        return read_struct(Ahead, rows[0]) if rows else None
