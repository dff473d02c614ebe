"""Rules of flow and parked runs, in the file of the journal."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from onward.adapters.sqlite.connection import SqliteConnection, transaction
from onward.kernel.messages import CompletionMessage, encode_message
from onward.kernel.records import Definition
from onward.kernel.run_events import ended_event, number_events, started_event
from onward.ports.storage.start_rules import (
    AGAIN_MS,
    Ahead,
    ParkedRun,
    StartRule,
    StartRules,
    room_of,
)

_rules = msgspec.json.Decoder(StartRule)

_ALIVE = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = ? AND (status IS NULL OR status = 'running') ORDER BY place LIMIT 1
"""
_PARK = """
INSERT OR IGNORE INTO flow_run
  (execution_id, workflow_id, definition_ref, flow_key, at_ms, due_ms, start)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_OLDER = """
SELECT flow_run.execution_id FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = ? AND status IS NULL AND released_ms IS NULL
ORDER BY place DESC LIMIT -1 OFFSET 1
"""
_END = """
INSERT OR IGNORE INTO execution
SELECT execution_id, workflow_id, definition_ref, 'cancelled', at_ms, ?2, ?3
FROM flow_run WHERE execution_id = ?1 AND released_ms IS NULL
"""
_CLEAN = """
DELETE FROM flow_run WHERE flow_key = ?1 AND coalesce(released_ms, 0) < ?2
  AND execution_id IN (SELECT execution_id FROM execution WHERE ended_ms IS NOT NULL)
"""
_COUNTS = """
SELECT count(*) FILTER (WHERE status IS NULL OR status = 'running'),
       count(*) FILTER (WHERE released_ms > ?2)
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = ?1 AND released_ms IS NOT NULL
"""
_READY = """
SELECT place, execution_id, flow_run.workflow_id, flow_run.definition_ref, flow_key, at_ms,
       due_ms, start
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = ?1 AND released_ms IS NULL AND due_ms <= ?2 AND status IS NULL
ORDER BY place LIMIT ?3
"""
_FORGOTTEN = """
SELECT place, execution_id, flow_run.workflow_id, flow_run.definition_ref, flow_key, at_ms,
       due_ms, start
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE flow_key = ?1 AND released_ms < ?2 AND status IS NULL ORDER BY place
"""
_WAITING = """
SELECT DISTINCT flow_run.workflow_id, flow_key
FROM flow_run LEFT JOIN execution USING (execution_id)
WHERE due_ms <= ? AND status IS NULL
"""
_AHEAD = """
SELECT (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
        WHERE other.flow_key = flow_run.flow_key AND released_ms IS NOT NULL
          AND (status IS NULL OR status = 'running')),
       (SELECT count(*) FROM flow_run AS other LEFT JOIN execution USING (execution_id)
        WHERE other.flow_key = flow_run.flow_key AND released_ms IS NULL
          AND other.place < flow_run.place AND status IS NULL),
       due_ms
FROM flow_run WHERE execution_id = ?
"""


class SqliteStartRules:
    """`Flow` of an embedded engine."""

    def __init__(self, file: SqliteConnection) -> None:
        self._file = file

    async def rule(self, workflow_id: str) -> StartRule | None:
        """Return the rule of a workflow."""
        rows = await self._rows("SELECT rule FROM flow_rule WHERE workflow_id = ?", workflow_id)
        return _rules.decode(rows[0][0]) if rows else None

    async def set_rule(self, workflow_id: str, rule: StartRule | None) -> None:
        """Set the rule of a workflow, or take it away."""
        if rule is None:
            await self._rows("DELETE FROM flow_rule WHERE workflow_id = ?", workflow_id)
        else:
            body = msgspec.json.encode(rule)
            await self._rows("INSERT OR REPLACE INTO flow_rule VALUES (?, ?)", workflow_id, body)

    async def park(self, parked: ParkedRun, rule: StartRule, definition: Definition) -> str | None:
        """Park a run, unless it must be alone and is not."""

        def work(db: sqlite3.Connection) -> str | None:
            with transaction(db):
                alive = db.execute(_ALIVE, (parked.flow_key,)).fetchone()
                if rule.singleton and alive is not None and alive[0] != parked.execution_id:
                    return str(alive[0])
                db.execute("INSERT OR IGNORE INTO definition VALUES (?, ?, ?)", definition)
                db.execute(_PARK, msgspec.structs.astuple(parked))
            return None

        return await self._file.do(work)

    async def older(self, flow_key: str) -> list[str]:
        """Return the runs of a key that are parked, but for the newest."""
        return [row[0] for row in await self._rows(_OLDER, flow_key)]

    async def let_go(self, flow_key: str, rule: StartRule, now_ms: int) -> list[ParkedRun]:
        """Let those go for which there is room."""

        def work(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
            with transaction(db):
                since = now_ms - rule.per_ms
                db.execute(_CLEAN, (flow_key, since))
                going_on, lately = db.execute(_COUNTS, (flow_key, since)).fetchone()
                rows = db.execute(_FORGOTTEN, (flow_key, now_ms - AGAIN_MS)).fetchall()
                room = room_of(rule, going_on, lately)
                rows += db.execute(_READY, (flow_key, now_ms, room)).fetchall()
                db.executemany(
                    "UPDATE flow_run SET released_ms = ? WHERE place = ?",
                    [(now_ms, row[0]) for row in rows],
                )
            return rows

        rows = await self._file.do(work)
        return [_parked(row) for row in sorted(rows, key=lambda row: int(row[0]))]

    async def waiting(self, now_ms: int) -> list[tuple[str, str]]:
        """Return every key with parked runs that may be due."""
        return [(workflow, key) for workflow, key in await self._rows(_WAITING, now_ms)]

    async def drop(self, completion: CompletionMessage, now_ms: int) -> bool:
        """End a parked run."""
        run = completion.execution_id
        log = number_events(run, [started_event(now_ms), ended_event(completion)], 0)

        def work(db: sqlite3.Connection) -> bool:
            with transaction(db):
                values = (run, now_ms, encode_message(completion))
                if db.execute(_END, values).rowcount != 1:
                    return False
                statement = "INSERT INTO event (execution_id, seq, body) VALUES (?, ?, ?)"
                db.executemany(statement, log)
            return True

        return await self._file.do(work)

    async def ahead(self, execution_id: str) -> Ahead | None:
        """Return what a parked run waits for."""
        rows = await self._rows(_AHEAD, execution_id)
        return Ahead(**dict(zip(Ahead.__struct_fields__, rows[0], strict=True))) if rows else None

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._file.do(lambda db: db.execute(statement, values).fetchall())


def _parked(row: tuple[Any, ...]) -> ParkedRun:
    return ParkedRun(**dict(zip(ParkedRun.__struct_fields__, row[1:], strict=True)))


_conforms: type[StartRules] = SqliteStartRules
