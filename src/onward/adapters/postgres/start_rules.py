"""Rules of flow and parked runs in PostgreSQL. Every key is changed by one at a time."""

from __future__ import annotations

from typing import Any

import msgspec
from asyncpg import Record

from onward.adapters.postgres import event_log, statements
from onward.adapters.postgres.connection import PostgresConnections
from onward.kernel.messages import CompletionMessage, encode_message
from onward.kernel.records import Definition
from onward.kernel.run_events import ended_event
from onward.ports.storage.start_rules import (
    AGAIN_MS,
    Ahead,
    ParkedRun,
    StartRule,
    StartRules,
    room_of,
)

_rules = msgspec.json.Decoder(StartRule)

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
_SET = """
INSERT INTO flow_rule VALUES ($1, $2) ON CONFLICT (workflow_id) DO UPDATE SET rule = excluded.rule
"""
_ALIVE = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND (status IS NULL OR status = 'running') ORDER BY place LIMIT 1
"""
_PARK = """
INSERT INTO flow_run (execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (execution_id) DO NOTHING RETURNING place
"""
_OLDER = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND status IS NULL AND released_ms IS NULL ORDER BY place DESC OFFSET 1
"""
_END = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, ended_ms,
                       completion, begun)
SELECT execution_id, workflow_id, definition_ref, 'cancelled', at_ms, $2, $3, true
FROM flow_run WHERE execution_id = $1 AND released_ms IS NULL
ON CONFLICT (execution_id) DO NOTHING RETURNING execution_id
"""
_CLEAN = """
DELETE FROM flow_run USING execution
WHERE flow_run.execution_id = execution.execution_id AND flow_key = $1
  AND execution.ended_ms IS NOT NULL AND coalesce(released_ms, 0) < $2
"""
_COUNTS = """
SELECT count(*) FILTER (WHERE status IS NULL OR status = 'running') AS going_on,
       count(*) FILTER (WHERE released_ms > $2) AS lately
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = $1 AND released_ms IS NOT NULL
"""
_LET_GO = """
UPDATE flow_run SET released_ms = $2
WHERE place IN (
  SELECT place FROM flow_run LEFT JOIN execution USING (execution_id)
  WHERE flow_key = $1 AND released_ms IS NULL AND due_ms <= $2 AND status IS NULL
  ORDER BY place LIMIT $3)
RETURNING execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start, place
"""
_FORGOTTEN = """
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
SELECT due_ms, (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
                WHERE other.flow_key = flow_run.flow_key AND released_ms IS NOT NULL
                  AND (status IS NULL OR status = 'running')) AS going_on,
       (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
        WHERE other.flow_key = flow_run.flow_key AND released_ms IS NULL
          AND other.place < flow_run.place AND status IS NULL) AS before
FROM flow_run WHERE execution_id = $1
"""


class PostgresStartRules(PostgresConnections):
    """`Flow` of a cluster."""

    async def rule(self, workflow_id: str) -> StartRule | None:
        """Return the rule of a workflow."""
        async with self.connection() as db:
            body = await db.fetchval(
                "SELECT rule FROM flow_rule WHERE workflow_id = $1", workflow_id
            )
        return None if body is None else _rules.decode(body)

    async def set_rule(self, workflow_id: str, rule: StartRule | None) -> None:
        """Set the rule of a workflow, or take it away."""
        async with self.connection() as db:
            if rule is None:
                await db.execute("DELETE FROM flow_rule WHERE workflow_id = $1", workflow_id)
            else:
                await db.execute(_SET, workflow_id, msgspec.json.encode(rule))

    async def park(self, parked: ParkedRun, rule: StartRule, definition: Definition) -> str | None:
        """Park a run, unless it must be alone and is not."""
        async with self.connection() as db, db.transaction():
            await db.execute(_LOCK, parked.flow_key)
            alive = await db.fetchval(_ALIVE, parked.flow_key) if rule.singleton else None
            if alive is not None and alive != parked.execution_id:
                return str(alive)
            await db.execute(statements.SAVE_DEFINITION, *definition)
            await db.execute(_PARK, *msgspec.structs.astuple(parked))
        return None

    async def older(self, flow_key: str) -> list[str]:
        """Return the runs of a key that are parked, but for the newest."""
        async with self.connection() as db:
            return [row["execution_id"] for row in await db.fetch(_OLDER, flow_key)]

    async def let_go(self, flow_key: str, rule: StartRule, now_ms: int) -> list[ParkedRun]:
        """Let those go for which there is room."""
        async with self.connection() as db, db.transaction():
            await db.execute(_LOCK, flow_key)
            since = now_ms - rule.per_ms
            await db.execute(_CLEAN, flow_key, since)
            counts: Any = await db.fetchrow(_COUNTS, flow_key, since)
            rows = await db.fetch(_FORGOTTEN, flow_key, now_ms, now_ms - AGAIN_MS)
            room = room_of(rule, counts["going_on"], counts["lately"])
            if room:
                rows += await db.fetch(_LET_GO, flow_key, now_ms, room)
        return [_parked(row) for row in sorted(rows, key=lambda row: row["place"])]

    async def waiting(self, now_ms: int) -> list[tuple[str, str]]:
        """Return every key with parked runs that may be due."""
        async with self.connection() as db:
            rows = await db.fetch(_WAITING, now_ms)
        return [(row["workflow_id"], row["flow_key"]) for row in rows]

    async def drop(self, completion: CompletionMessage, now_ms: int) -> bool:
        """End a parked run."""
        execution_id = completion.execution_id
        key = "SELECT flow_key FROM flow_run WHERE execution_id = $1"
        async with self.connection() as db, db.transaction():
            found = await db.fetchval(key, execution_id)
            if found is None:
                return False
            await db.execute(_LOCK, found)
            body = encode_message(completion)
            if await db.fetchval(_END, execution_id, now_ms, body) is None:
                return False
            await event_log.append(db, {execution_id: [ended_event(completion)]})
        return True

    async def ahead(self, execution_id: str) -> Ahead | None:
        """Return what a parked run waits for."""
        async with self.connection() as db:
            row = await db.fetchrow(_AHEAD, execution_id)
        return Ahead(**row) if row else None


def _parked(row: Record) -> ParkedRun:
    return ParkedRun(**{name: row[name] for name in ParkedRun.__struct_fields__})


_conforms: type[StartRules] = PostgresStartRules
