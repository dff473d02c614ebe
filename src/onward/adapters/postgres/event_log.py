"""The event log of runs: written inside the fold that makes it true, with a word to every master.

The rows of the batch's runs are locked by then, so numbers are given out one fold at a time and
have no gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from asyncpg import Record
from asyncpg.pool import PoolConnectionProxy

from onward.adapters.postgres.rows import columns
from onward.kernel.history import HistoryEntries
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.run_events import (
    RunEvent,
    StoredEvent,
    VisitKey,
    drafts_of,
    is_counted,
    is_passing,
    numbered,
    started,
    visit_of,
)

CHANNEL = "onward_events"
MANY = "*"
"""Said instead of the runs when they are too many for one word."""
NAMED_AT_ONCE = 40

_Connection: TypeAlias = "PoolConnectionProxy[Record]"

# Of visits whose news has no line of history in this batch: which have one already.
_STALE = """
SELECT node_run.execution_id, node_run.token_id, node_run.node_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS one (execution_id, token_id, node_id)
JOIN node_run USING (execution_id, token_id, node_id)
"""

_BEGIN = """
UPDATE execution SET last_event = 1
WHERE execution_id = ANY ($1::text[]) AND last_event = 0
RETURNING execution_id, started_ms
"""

_NUMBERS = """
UPDATE execution SET last_event = execution.last_event + one.many
FROM unnest($1::text[], $2::bigint[]) AS one (execution_id, many)
WHERE execution.execution_id = one.execution_id
RETURNING execution.execution_id, execution.last_event
"""

# Places are given out one transaction after the other, so their order is that of the commits and
# whoever has read up to one has missed nothing. Commits that notify queue up in any case.
IN_TURN = f"SELECT pg_advisory_xact_lock({0x77656676})"

NOTIFY = "SELECT pg_notify($1, $2)"

_APPEND = """
INSERT INTO event (execution_id, seq, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
"""


async def append_batch(
    db: _Connection,
    statuses: Sequence[NodeStatusMessage],
    completions: Sequence[CompletionMessage],
    entries: HistoryEntries,
    fresh: set[VisitKey],
    ended_now: set[str],
) -> None:
    """Append what a fold adds to the logs of its runs."""
    recorded = {VisitKey(run.execution_id, run.token_id, run.node_id) for run in entries.node_runs}
    asked = {
        visit_of(status) for status in statuses if is_passing(status) and not is_counted(status)
    } - recorded
    stale = recorded - fresh
    if asked:
        stale |= {VisitKey(*row) for row in await db.fetch(_STALE, *columns(asked))}
    await append(
        db, drafts_of(statuses, completions, fresh=fresh, stale=stale, ended_now=ended_now)
    )


async def append(db: _Connection, events: Mapping[str, Sequence[RunEvent]]) -> None:
    """Append events to the logs of runs whose rows this transaction has locked."""
    told = {run: some for run, some in events.items() if some}
    if not told:
        return
    stored = await _begun(db, list(told))
    rows = await db.fetch(_NUMBERS, *columns((run, len(some)) for run, some in told.items()))
    for run, last in rows:
        stored += numbered(run, told[run], last - len(told[run]))
    await _insert(db, stored)
    await notify(db, told)


async def begin(db: _Connection, execution_id: str) -> None:
    """Write the first event of a run, unless its log has begun already."""
    stored = await _begun(db, [execution_id])
    if stored:
        await _insert(db, stored)
        await notify(db, [execution_id])


async def _insert(db: _Connection, stored: Sequence[StoredEvent]) -> None:
    """Write events in the order of all runs; the last thing that a transaction waits for."""
    await db.execute(IN_TURN)
    await db.execute(_APPEND, *columns(stored))


async def _begun(db: _Connection, runs: list[str]) -> list[StoredEvent]:
    rows = await db.fetch(_BEGIN, runs)
    return [one for run, at_ms in rows for one in numbered(run, [started(at_ms)], 0)]


async def notify(db: _Connection, runs: Mapping[str, object] | Sequence[str]) -> None:
    """Tell every master which runs have news, when this transaction is committed."""
    word = ",".join(runs) if len(runs) <= NAMED_AT_ONCE else MANY
    await db.execute(NOTIFY, CHANNEL, word)
