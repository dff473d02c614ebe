"""Snapshots of runs from the journal of the embedded engine: read only, also while it writes.

A snapshot is read in one transaction, so here it is of one moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from onward.adapters.sqlite.history import SqliteHistory
from onward.errors import MessageError
from onward.kernel.coordination import UNIT_SEPARATOR, BarrierHead
from onward.kernel.flow import read_origin
from onward.kernel.messages import Token, decode_token, read_token
from onward.ports.cluster.inspection import (
    Arrival,
    Barrier,
    Inspector,
    ScopeState,
    Snapshot,
    TimerState,
)

_Group = dict[str, dict[str, Any]]

_unpack = msgspec.msgpack.Decoder().decode

# Values of users may be large and are not needed here: only that they are there.
_CELLS = """
SELECT grp, kind, field, CASE WHEN kind IN ('value', 'left', 'record') THEN NULL ELSE value END
FROM cell WHERE execution_id = ?
"""
_QUEUED = "SELECT body FROM message WHERE execution_id = ? ORDER BY seq"
_TIMERS = "SELECT due_ms, body FROM timer WHERE execution_id = ? ORDER BY due_ms, timer_id"


class SqliteInspector(SqliteHistory):
    """An `Inspector` of the runs in one file."""

    async def look(self, execution_id: str) -> Snapshot:
        query = self._reader.execute
        query("BEGIN")
        try:
            cells = query(_CELLS, (execution_id,)).fetchall()
            queued = query(_QUEUED, (execution_id,)).fetchall()
            timers = query(_TIMERS, (execution_id,)).fetchall()
        finally:
            query("COMMIT")
        groups: dict[str, _Group] = {}
        for name, kind, field, value in cells:
            cell = None if value is None else _unpack(value)
            groups.setdefault(name, {}).setdefault(kind, {})[field] = cell
        tokens = tuple(_tokens(queued))
        splits = [(name, group) for name, group in groups.items() if "origin" in group]
        scopes = [(name, group) for name, group in groups.items() if "head" not in group]
        return Snapshot(
            over="done" in groups.get("", {}),
            scopes=tuple(_scope(name, group) for name, group in scopes),
            barriers=tuple(_barrier(name, group) for name, group in splits),
            alarms=tuple(
                TimerState(due_ms=due_ms, leased=False, token=read_token(body))
                for due_ms, body in timers
            ),
            queued=tokens,
            paused=bool(groups.get("", {}).get("paused", {}).get("")),
            unreadable=len(queued) - len(tokens),
        )


def _tokens(rows: list[tuple[bytes]]) -> Iterator[Token]:
    """Yield the tokens among the messages; a damaged one is for the engine to quarantine."""
    for (body,) in rows:
        with suppress(MessageError):
            yield decode_token(bytes(body))


def _barrier(split: str, kinds: _Group) -> Barrier:
    head = BarrierHead(*kinds["head"][""])
    return Barrier(
        split=split,
        origin=read_origin(kinds["origin"][""]),
        total=head.total,
        window=head.window,
        budget=head.budget,
        sent=head.next,
        failed=head.failed,
        verdict=head.verdict,
        slots=frozenset(map(int, kinds.get("slot", ()))),
    )


def _scope(name: str, kinds: _Group) -> ScopeState:
    return ScopeState(
        name=name,
        live=kinds.get("live", {}).get("", 1),
        claimed=frozenset(kinds.get("owner", ())),
        fates={step: (tag, many) for step, (tag, many) in kinds.get("fate", {}).items()},
        left=frozenset(kinds.get("left", ())),
        recorded=frozenset(kinds.get("record", ())),
        closed="closed" in kinds,
        dead=frozenset(kinds.get("dead", ())),
        merged=frozenset(kinds.get("merge", ())),
        arrivals=tuple(
            Arrival(node, edge, unit)
            for field, (unit, _) in sorted(kinds.get("arrival", {}).items())
            for node, _, edge in [field.partition(UNIT_SEPARATOR)]
        ),
    )


_conforms: type[Inspector] = SqliteInspector
