"""Definitions, history and payloads in PostgreSQL, for any number of processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from asyncpg import Pool, Record
from asyncpg.pool import PoolConnectionProxy

from weft.adapters.postgres import statements
from weft.adapters.postgres.failures import FAILURES, failure
from weft.adapters.postgres.rows import columns, read_execution, read_node_run, row_of_node_run
from weft.errors import StorageError
from weft.kernel.context import Payload, Ref
from weft.kernel.messages import CompletionMessage, NodeStatusMessage
from weft.ports.journal import Definition, Execution, NodeRun
from weft.ports.ledger import check_request, entries_of
from weft.ports.payloads import Payloads
from weft.ports.store import Store

PRUNED_AT_ONCE = 200
"""Runs in one transaction of `prune`: locks stay few, and an interruption loses little."""
ACQUIRE_TIMEOUT_S = 30

_Connection: TypeAlias = "PoolConnectionProxy[Record]"


class PostgresStore:
    """A `Store` and `Payloads`. StorageError is all it raises for what the server does.

    After a lost connection the next call makes a new one. Everything that writes may be repeated.
    """

    def __init__(self, pool: Pool[Record], place: str = "its address") -> None:
        self._pool = pool
        self._place = place

    async def close(self) -> None:
        """Wait for what is under way, and disconnect."""
        await self._pool.close()

    # -- definitions and history ---------------------------------------------------------------

    async def save_definition(self, definition: Definition) -> None:
        """Keep a definition; the first of its address stands."""
        async with self._connection() as db:
            await db.execute(statements.SAVE_DEFINITION, *definition)

    async def definition(self, ref: str) -> Definition | None:
        """Return a definition by its content address."""
        async with self._connection() as db:
            row = await db.fetchrow(statements.DEFINITION, ref)
        return Definition(**row) if row else None

    async def begin(self, execution: Execution) -> bool:
        """Note that a run starts: True once for each id, also when messages of it came before."""
        async with self._connection() as db:
            begun = await db.fetchval(
                statements.BEGIN,
                execution.execution_id,
                execution.workflow_id,
                execution.definition_ref,
                execution.started_ms,
            )
        return begun is not None

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        """Fold a batch in one transaction; MessageError, and nothing written, for a bad message."""
        sightings, node_runs, endings = entries_of(statuses, completions)
        if not sightings:
            return
        async with self._connection() as db, db.transaction():
            await db.execute(statements.SEE, *columns(sightings))
            if node_runs:
                await db.execute(statements.RECORD, *columns(map(row_of_node_run, node_runs)))
            if endings:
                rows = [(e.execution_id, e.status, e.ended_ms, e.completion) for e in endings]
                await db.execute(statements.END, *columns(rows))

    async def execution(self, execution_id: str) -> Execution | None:
        """Return one run."""
        async with self._connection() as db:
            row = await db.fetchrow(statements.EXECUTION, execution_id)
        return read_execution(row) if row else None

    async def executions(self, *, status: str | None = None, limit: int = 100) -> list[Execution]:
        """Return runs, newest first."""
        check_request(status, limit)
        async with self._connection() as db:
            if status is None:
                rows = await db.fetch(statements.NEWEST, limit)
            else:
                rows = await db.fetch(statements.NEWEST_OF_STATUS, limit, status)
        return [read_execution(row) for row in rows]

    async def node_runs(self, execution_id: str) -> list[NodeRun]:
        """Return what the nodes of a run came to, in the order it was recorded."""
        async with self._connection() as db:
            rows = await db.fetch(statements.NODE_RUNS, execution_id)
        return [read_node_run(row) for row in rows]

    async def prune(self, before_ms: int) -> int:
        """Drop runs that ended before a moment, some at a time; say how many.

        A message that comes after its run was dropped makes the run known again: keep history for
        longer than a message can be late.
        """
        dropped = 0
        while some := await self._prune_some(before_ms):
            dropped += some
        return dropped

    async def _prune_some(self, before_ms: int) -> int:
        async with self._connection() as db, db.transaction():
            rows = await db.fetch(statements.EXPIRED, before_ms, PRUNED_AT_ONCE)
            expired = [row["execution_id"] for row in rows]
            for statement in statements.FORGET if expired else ():
                await db.execute(statement, expired)
        return len(expired)

    # -- payloads ------------------------------------------------------------------------------

    async def put(self, execution_id: str, payload: Payload) -> None:
        """Keep a payload; the same one may be put any number of times."""
        async with self._connection() as db:
            await db.execute(statements.PUT, execution_id, payload.ref.hash, bytes(payload.body))

    async def get(self, execution_id: str, ref: Ref) -> bytes:
        """Return a payload; StorageError when it is not there."""
        async with self._connection() as db:
            body: bytes | None = await db.fetchval(statements.GET, execution_id, ref.hash)
        if body is None:
            raise StorageError(
                f"payload {ref.hash} of {execution_id} is not in PostgreSQL at {self._place}:"
                " was the run pruned?"
            )
        return body

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[_Connection]:
        try:
            async with self._pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                yield connection
        except FAILURES as problem:
            raise failure(problem, self._place) from problem


_conforms: type[Store] = PostgresStore
_keeps: type[Payloads] = PostgresStore
