"""The event log of runs: written inside the fold that it reports, with a notice to every master.

The rows of the batch's runs are locked by then, so numbers are assigned one fold at a time and have
no gaps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from onward.adapters.postgres.connection import PooledConnection
from onward.adapters.postgres.statements import columns
from onward.kernel.history import HistoryEntries, is_passing
from onward.kernel.messages import CompletionMessage, NodeStatusMessage
from onward.kernel.records import VisitKey
from onward.kernel.run_events import (
    RunEvent,
    StoredEvent,
    events_of_batch,
    is_counted,
    number_events,
    started_event,
    visit_of,
)

CHANNEL = "onward_events"
MANY_RUNS = "*"
"""Sent instead of the runs when they are too many for one notice."""
MOST_RUNS_NAMED = 40

# Of visits with a report but no line of history in this batch: which have one already.
_STALE = """
SELECT node_run.execution_id, node_run.token_id, node_run.node_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS visit (execution_id, token_id, node_id)
JOIN node_run USING (execution_id, token_id, node_id)
"""

_BEGIN = """
UPDATE execution SET last_event = 1
WHERE execution_id = ANY ($1::text[]) AND last_event = 0
RETURNING execution_id, started_ms
"""

_NUMBERS = """
UPDATE execution SET last_event = execution.last_event + added.many
FROM unnest($1::text[], $2::bigint[]) AS added (execution_id, many)
WHERE execution.execution_id = added.execution_id
RETURNING execution.execution_id, execution.last_event
"""

# Places are assigned one transaction after the other, so their order is that of the commits and a
# reader that is past one has missed nothing. Commits that notify queue up in any case.
IN_TURN = f"SELECT pg_advisory_xact_lock({0x77656676})"

NOTIFY = "SELECT pg_notify($1, $2)"

_APPEND = """
INSERT INTO event (execution_id, seq, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
"""


async def append_batch(
    db: PooledConnection,
    statuses: Sequence[NodeStatusMessage],
    completions: Sequence[CompletionMessage],
    entries: HistoryEntries,
    fresh: set[VisitKey],
    ended_now: set[str],
) -> None:
    """Append the events of a fold to the logs of its runs."""
    recorded = {
        VisitKey(visit.execution_id, visit.token_id, visit.node_id) for visit in entries.visits
    }
    unknown = {
        visit_of(status) for status in statuses if is_passing(status) and not is_counted(status)
    } - recorded
    stale = recorded - fresh
    if unknown:
        stale |= {VisitKey(*row) for row in await db.fetch(_STALE, *columns(unknown))}
    await append(
        db, events_of_batch(statuses, completions, fresh=fresh, stale=stale, ended_now=ended_now)
    )


async def append(db: PooledConnection, events: Mapping[str, Sequence[RunEvent]]) -> None:
    """Append events to the logs of runs whose rows this transaction has locked."""
    drafts = {name: new for name, new in events.items() if new}
    if not drafts:
        return
    stored = await _first_events(db, list(drafts))
    counts = columns((name, len(new)) for name, new in drafts.items())
    for name, last in await db.fetch(_NUMBERS, *counts):
        stored += number_events(name, drafts[name], last - len(drafts[name]))
    await _insert(db, stored)
    await _notify(db, drafts)


async def begin(db: PooledConnection, execution_id: str) -> None:
    """Write the first event of a run, unless its log has begun already."""
    stored = await _first_events(db, [execution_id])
    if stored:
        await _insert(db, stored)
        await _notify(db, [execution_id])


async def _insert(db: PooledConnection, stored: Sequence[StoredEvent]) -> None:
    """Write events in the order of all runs; the last thing that a transaction waits for."""
    await db.execute(IN_TURN)
    await db.execute(_APPEND, *columns(stored))


async def _first_events(db: PooledConnection, execution_ids: list[str]) -> list[StoredEvent]:
    """Return the first event of each run whose log has not begun."""
    rows = await db.fetch(_BEGIN, execution_ids)
    return [
        event for name, at_ms in rows for event in number_events(name, [started_event(at_ms)], 0)
    ]


async def _notify(db: PooledConnection, execution_ids: Collection[str]) -> None:
    """Notify every master of the runs with new events, when this transaction is committed."""
    few = len(execution_ids) <= MOST_RUNS_NAMED
    await db.execute(NOTIFY, CHANNEL, ",".join(execution_ids) if few else MANY_RUNS)
