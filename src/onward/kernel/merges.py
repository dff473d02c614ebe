"""Merges: one arrival for each incoming edge, and dead edges that nobody need wait for."""

from __future__ import annotations

from onward.kernel.effects import (
    Arrive,
    DiscardMerge,
    ExpireMerge,
    Late,
    Opened,
    Pending,
    Skip,
    TryOpen,
)
from onward.kernel.scopes import Scopes

UNIT_SEPARATOR = "\x1f"


class Merges(Scopes):
    """The merges of every scope, each keyed by scope, node and incoming edge."""

    def arrive(self, ask: Arrive) -> Pending | Late | Opened:
        """Note an arrival; the first by each edge counts, and counts once."""
        cells, field = self._cells, f"{ask.node}{UNIT_SEPARATOR}{ask.edge}"
        arrival = cells.get(ask.scope, "arrival", field)
        merge = cells.get(ask.scope, "merge", ask.node)
        if arrival is None:
            if merge is not None:
                return Late()
            cells.put(ask.scope, "arrival", field, (ask.unit, ask.payload))
        elif arrival[0] != ask.unit:
            return Late()
        opened = self._try_open(ask.scope, ask.node, ask.by, ask.expected, ask.quota)
        return opened or Pending(len(self._arrivals(ask.scope, ask.node)))

    def _arrivals(self, scope: str, node: str) -> dict[str, tuple[str, bytes]]:
        prefix = node + UNIT_SEPARATOR
        return {
            field.removeprefix(prefix): arrival
            for field, arrival in self._cells.all(scope, "arrival").items()
            if field.startswith(prefix)
        }

    def _try_open(
        self, scope: str, node: str, by: str, expected: tuple[str, ...], quota: int | None
    ) -> Opened | None:
        arrivals = self._arrivals(scope, node)
        if self._cells.get(scope, "merge", node) is None:
            dead = self._cells.all(scope, "dead")
            complete = all(edge in arrivals or edge in dead for edge in expected)
            enough = quota is not None and len(arrivals) >= quota
            if not arrivals or not (complete or enough):
                return None
            self._open(scope, node, by, len(arrivals))
        return self._reopen(scope, node, by, arrivals)

    def _open(self, scope: str, node: str, by: str, arrived: int) -> None:
        self._cells.put(scope, "merge", node, (by, False))
        # All that arrived goes on as one.
        self._live(scope, 1 - arrived)

    def _reopen(
        self, scope: str, node: str, by: str, arrivals: dict[str, tuple[str, bytes]]
    ) -> Opened | None:
        opened_by, discarded = self._cells.get(scope, "merge", node)
        if opened_by != by or discarded:
            return None
        return Opened({edge: payload for edge, (_, payload) in arrivals.items()})

    def skip(self, ask: Skip) -> frozenset[str]:
        """Mark edges dead. Monotone: add, then read back everything."""
        for edge in ask.edges:
            self._cells.put(ask.scope, "dead", edge, 1)
        return frozenset(self._cells.all(ask.scope, "dead"))

    def try_open(self, ask: TryOpen) -> Opened | None:
        """Open a merge that dead edges have completed."""
        return self._try_open(ask.scope, ask.node, ask.by, ask.expected, ask.quota)

    def expire_merge(self, ask: ExpireMerge) -> Opened | None:
        """Close a merge that waited too long, unless it opened first."""
        arrivals = self._arrivals(ask.scope, ask.node)
        if self._cells.get(ask.scope, "merge", ask.node) is None:
            if not arrivals:
                return None
            self._open(ask.scope, ask.node, ask.by, len(arrivals))
        return self._reopen(ask.scope, ask.node, ask.by, arrivals)

    def discard_merge(self, ask: DiscardMerge) -> None:
        """Drop what arrived; the tombstone and the names of the arrivals stay."""
        merge = self._cells.get(ask.scope, "merge", ask.node)
        if merge is None:
            return
        self._cells.put(ask.scope, "merge", ask.node, (merge[0], True))
        for edge, (unit, _) in self._arrivals(ask.scope, ask.node).items():
            field = f"{ask.node}{UNIT_SEPARATOR}{edge}"
            self._cells.put(ask.scope, "arrival", field, (unit, b""))
