"""Signals: a fact with a name, and whoever waits for it; whichever comes first is kept.

Both sides are one atomic step on the same cells, so that a signal and a wait can never miss each
other. Each signal is taken by one wait, in the order they came. A wait that has given up, or whose
scope is closed, takes nothing.
"""

from __future__ import annotations

from typing import Any, cast

from onward.kernel.effects import Await, Deliver, Resolve, Taken
from onward.kernel.lineage import ROOT, Frame, Lineage, scope_of
from onward.kernel.merges import Merges


class Signals(Merges):
    """The signals of a run that nobody has taken yet, and the units that wait for one."""

    def await_signal(self, ask: Await) -> Taken | None:
        """Take the first signal kept at an address, or wait there. None: it waits, or is closed."""
        if self._closed(ask.lineage, ask.by) is not None:
            return None
        taken = self._cells.get(ask.scope, "taken", ask.by)
        if taken is not None:
            return Taken(*taken)
        kept = self._list("signal", ask.address)
        if kept:
            signal, content = kept[0]
            self._cells.put(ROOT, "signal", ask.address, tuple(kept[1:]))
            return self._give(ask.scope, ask.by, signal, content)
        waiting = self._list("waiter", ask.address)
        if all(unit != ask.by for unit, _ in waiting):
            path = [(frame.split_token, frame.item_index) for frame in ask.lineage]
            self._cells.put(ROOT, "waiter", ask.address, (*waiting, (ask.by, path)))
        return None

    def deliver(self, ask: Deliver) -> str | None:
        """Give a signal to the first who waits for it, or keep it. The unit that has it, if any."""
        heard = self._cells.get(ROOT, "heard", ask.by)
        if heard is not None:
            return cast(str, heard) or None
        waiting = self._list("waiter", ask.address)
        for at, (unit, path) in enumerate(waiting):
            lineage = _lineage(path)
            if self._closed(lineage, "") is None:
                self._cells.put(ROOT, "waiter", ask.address, tuple(waiting[at + 1 :]))
                self._give(scope_of(lineage), unit, ask.by, ask.content)
                return cast(str, unit)
        if waiting:
            self._cells.put(ROOT, "waiter", ask.address, ())
        kept = self._list("signal", ask.address)
        self._cells.put(ROOT, "signal", ask.address, (*kept, (ask.by, ask.content)))
        self._cells.put(ROOT, "heard", ask.by, "")
        return None

    def resolve(self, ask: Resolve) -> Taken | None:
        """Say which signal a unit has taken; one that has none gives up, for good."""
        taken = self._cells.get(ask.scope, "taken", ask.unit)
        if taken is not None:
            return Taken(*taken)
        waiting = self._list("waiter", ask.address)
        left = tuple(one for one in waiting if one[0] != ask.unit)
        if len(left) != len(waiting):
            self._cells.put(ROOT, "waiter", ask.address, left)
        self._cells.put(ask.scope, "taken", ask.unit, ("", b""))
        return Taken("", b"")

    def _give(self, scope: str, unit: str, signal: str, content: bytes) -> Taken:
        self._cells.put(ROOT, "heard", signal, unit)
        self._cells.put(scope, "taken", unit, (signal, content))
        return Taken(signal, content)

    def _list(self, kind: str, address: str) -> list[Any]:
        return list(self._cells.get(ROOT, kind, address) or ())


def _lineage(path: list[tuple[str, int]]) -> Lineage:
    """Return as much of a lineage as it takes to tell whether it is closed."""
    return tuple(Frame("", "", index, 0, split) for split, index in path)
