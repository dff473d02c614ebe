"""Definitions, history and payloads in PostgreSQL, for any number of processes.

First `open_store`: from a URL to a store that is reachable, writable and up to date. Then the
store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

import asyncpg
from asyncpg import Pool, Record

from onward.adapters.postgres import event_log, statements
from onward.adapters.postgres.connection import (
    FAILURES,
    PooledConnection,
    PostgresConnections,
    failure,
    place_of,
    unreadable,
)
from onward.adapters.postgres.migrations import migrate
from onward.adapters.postgres.statements import columns
from onward.adapters.sql.rows import read_run, read_visit, row_of_lines, row_of_visit
from onward.adapters.sql.run_queries import DEFINITION, PAYLOAD
from onward.adapters.sql.workflows import SAVE_DEFINITION
from onward.errors import StorageError
from onward.kernel.context import Payload, Ref
from onward.kernel.history import check_run_filter, entries_of
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.records import Definition, RunRecord, VisitKey, VisitRecord
from onward.kernel.run_events import RunEvent
from onward.ports.storage.history_store import HistoryStore, Silence
from onward.ports.storage.payloads import Payloads

CONNECTIONS = 10
CONNECT_TIMEOUT_S = 10
STATEMENT_TIMEOUT_S = 60
_LOCK = "SELECT status = 'running' FROM execution WHERE execution_id = $1 FOR UPDATE"
PRUNED_AT_ONCE = 200
"""Runs in one transaction of `prune`: locks stay few, and an interruption loses little."""

_Pool: TypeAlias = "Pool[Record]"


# -- opening -----------------------------------------------------------------------------------


async def open_store(url: str) -> PostgresStore:
    """Connect, bring the tables up to date, and return the store.

    Raises StorageError, one line with the remedy, when the server cannot be reached, refuses the
    user, has no such database, is read-only, or has the tables of a much newer release. The line
    never holds the password.
    """
    place = place_of(url)
    pool: _Pool = await asyncpg.create_pool(
        url,
        min_size=0,  # connections come when they are needed: none is restored behind our back
        max_size=CONNECTIONS,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=STATEMENT_TIMEOUT_S,
        server_settings={"application_name": "onward"},
    )
    try:
        await _prepare(pool)
    except FAILURES as problem:
        await pool.close()
        raise failure(problem, place) from None
    except StorageError:
        await pool.close()
        raise
    except ValueError:  # a port that is no number, a host that cannot be a name
        await pool.close()
        raise unreadable() from None
    except asyncio.CancelledError:
        pool.terminate()
        raise
    return PostgresStore(pool, place)


async def _prepare(pool: _Pool) -> None:
    async with pool.acquire() as connection:
        if await connection.fetchval("SHOW transaction_read_only") == "on":
            raise asyncpg.ReadOnlySQLTransactionError
        await migrate(connection)


# -- the store ---------------------------------------------------------------------------------


class PostgresStore(PostgresConnections):
    """A `HistoryStore` and `Payloads`. StorageError is all it raises for what the server does.

    After a lost connection the next call opens a new one. Every write may be repeated.
    """

    async def close(self) -> None:
        """Wait for the calls under way, and disconnect."""
        await self.pool.close()

    # -- definitions and history ---------------------------------------------------------------

    async def save_definition(self, definition: Definition) -> None:
        async with self.connection() as db:
            await db.execute(SAVE_DEFINITION, *definition)

    async def definition(self, ref: str) -> Definition | None:
        async with self.connection() as db:
            row = await db.fetchrow(DEFINITION, ref)
        return Definition(**row) if row else None

    async def begin(
        self, execution: RunRecord, start: bytes = b"", kept: Sequence[VisitRecord] = ()
    ) -> bool:
        async with self.connection() as db, db.transaction():
            begun = await db.fetchval(
                statements.BEGIN,
                execution.execution_id,
                execution.workflow_id,
                execution.definition_ref,
                execution.started_ms,
                start,
            )
            if begun is not None:
                if kept:
                    rows = [row_of_visit(visit) for visit in kept]
                    await db.execute(statements.RECORD, *columns(rows))
                await event_log.begin(db, execution.execution_id)
        return begun is not None

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        entries = entries_of(statuses, completions)
        if not entries.sightings:
            return
        async with self.connection() as db, db.transaction():
            await db.execute(statements.SEE, *columns(entries.sightings))
            fresh: set[VisitKey] = set()
            ended_now: set[str] = set()
            if entries.visits:
                rows = [row_of_visit(visit) for visit in entries.visits]
                fresh = {
                    VisitKey(*row) for row in await db.fetch(statements.RECORD, *columns(rows))
                }
                await _save_lines(db, entries.visits, fresh)
            if entries.endings:
                ends = [
                    (run.execution_id, run.status, run.ended_ms, run.completion)
                    for run in entries.endings
                ]
                ended_now = {row[0] for row in await db.fetch(statements.END, *columns(ends))}
            await event_log.append_batch(db, statuses, completions, entries, fresh, ended_now)

    async def tell(self, execution_id: str, event: RunEvent) -> None:
        """Write what happened to a run that has not ended into its log of events."""
        async with self.connection() as db, db.transaction():
            if await db.fetchval(_LOCK, execution_id):
                await event_log.append(db, {execution_id: [event]})

    async def execution(self, execution_id: str) -> RunRecord | None:
        async with self.connection() as db:
            row = await db.fetchrow(statements.EXECUTION, execution_id)
        return read_run(row) if row else None

    async def executions(self, *, status: str | None = None, limit: int = 100) -> list[RunRecord]:
        check_run_filter(status, limit)
        async with self.connection() as db:
            if status is None:
                rows = await db.fetch(statements.NEWEST, limit)
            else:
                rows = await db.fetch(statements.NEWEST_OF_STATUS, limit, status)
        return [read_run(row) for row in rows]

    async def node_runs(self, execution_id: str) -> list[VisitRecord]:
        async with self.connection() as db:
            rows = await db.fetch(statements.NODE_RUNS, execution_id)
        return [read_visit(row) for row in rows]

    async def quiet(self, before_ms: int, *, after: str = "", limit: int = 100) -> list[Silence]:
        check_run_filter(None, limit)
        async with self.connection() as db:
            rows = await db.fetch(statements.QUIET, before_ms, after, limit)
        return [Silence(heard_ms=row["heard_ms"], execution=read_run(row)) for row in rows]

    async def start_of(self, execution_id: str) -> bytes:
        async with self.connection() as db:
            start: bytes | None = await db.fetchval(statements.START, execution_id)
        return start or b""

    async def regenerate(self, execution_id: str, generation: int, now_ms: int) -> bool:
        async with self.connection() as db:
            found = await db.fetchval(statements.REGENERATE, execution_id, generation, now_ms)
        return found is not None

    async def prune(self, before_ms: int) -> int:
        """Delete runs that ended before a moment, some at a time; return how many.

        A message that comes after its run was deleted makes the run known again: keep history for
        longer than a message can be late.
        """
        deleted = 0
        while count := await self._prune_some(before_ms):
            deleted += count
        return deleted

    async def _prune_some(self, before_ms: int) -> int:
        async with self.connection() as db, db.transaction():
            rows = await db.fetch(statements.EXPIRED, before_ms, PRUNED_AT_ONCE)
            expired = [row["execution_id"] for row in rows]
            for statement in statements.DELETE if expired else ():
                await db.execute(statement, expired)
        return len(expired)

    # -- payloads ------------------------------------------------------------------------------

    async def put(self, execution_id: str, payload: Payload) -> None:
        async with self.connection() as db:
            await db.execute(statements.PUT, execution_id, payload.ref.hash, bytes(payload.body))

    async def get(self, execution_id: str, ref: Ref) -> bytes:
        async with self.connection() as db:
            body: bytes | None = await db.fetchval(PAYLOAD, execution_id, ref.hash)
        if body is None:
            raise StorageError(
                f"payload {ref.hash} of {execution_id} is not in PostgreSQL at {self.place}:"
                " was the run pruned?"
            )
        return body


async def _save_lines(
    db: PooledConnection, visits: Sequence[VisitRecord], fresh: set[VisitKey]
) -> None:
    """Save the lines that new visits logged."""
    rows = [
        row_of_lines(visit)
        for visit in visits
        if visit.log and VisitKey(visit.execution_id, visit.token_id, visit.node_id) in fresh
    ]
    if rows:
        await db.execute(statements.SAVE_LINES, *columns(rows))


_conforms: type[HistoryStore] = PostgresStore
_conforms_too: type[Payloads] = PostgresStore
