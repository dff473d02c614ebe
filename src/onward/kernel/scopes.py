"""Scopes: how many tokens live in one, which outcome each step follows, and who is the last out."""

from __future__ import annotations

from typing import cast

from onward.kernel.barriers import Barriers
from onward.kernel.effects import (
    Abort,
    Aborted,
    Closed,
    Filed,
    Leave,
    Open,
    Record,
    Stands,
    Superseded,
)


class Scopes(Barriers):
    """The run itself, and each item of a split: what lives there, and how it closes."""

    def _settle(self, scope: str, unit: str, tag: str, siblings: int) -> None:
        """Fix the outcome of `unit`: one live token becomes `siblings` of them."""
        self._cells.put(scope, "fate", unit, (tag, siblings))
        if siblings != 1:
            self._live(scope, siblings - 1)

    def _live(self, scope: str, change: int) -> int:
        live = self._cells.get(scope, "live", "")
        live = (1 if live is None else live) + change
        self._cells.put(scope, "live", "", live)
        return cast(int, live)

    def record(self, ask: Record) -> Stands | Superseded:
        """Fix an outcome; an earlier one on record stands, a child already followed outranks it."""
        earlier = self._cells.get(ask.scope, "record", ask.token_id)
        if earlier is not None:
            return Stands(earlier)
        if self._cells.get(ask.scope, "fate", ask.token_id) is not None:
            return Superseded()
        self._cells.put(ask.scope, "record", ask.token_id, ask.outcome)
        if ask.siblings:
            self._settle(ask.scope, ask.token_id, ask.tag, ask.siblings)
        else:
            # Its unit will leave or abort, which does the counting; the tag alone outranks the
            # children that another attempt may have published.
            self._cells.put(ask.scope, "fate", ask.token_id, (ask.tag, 0))
        return Stands(ask.outcome)

    def leave(self, ask: Leave) -> Open | Closed | Aborted | Filed:
        """A unit leaves; the last one closes the scope, and only it is told, however often."""
        cells = self._cells
        if ask.lineage:
            top = ask.lineage[-1]
            slot = cells.get(top.split_token, "slot", str(top.item_index))
            if slot is not None:
                return Filed() if slot[0] == ask.by else Open()
            if not self._holds(top.split_token, ask.by):
                return Open()
        closed = cells.get(ask.scope, "closed", "")
        if closed is None:
            if ask.unit is None or not self._leaves(ask.scope, ask.unit, ask.value):
                return Open()
            cells.put(ask.scope, "closed", "", (ask.by, None))
        elif closed[0] != ask.by:
            return Open()
        elif closed[1] is not None:
            return Aborted(closed[1])
        return Closed(dict(cells.all(ask.scope, "left")))

    def _leaves(self, scope: str, unit: str, value: bytes) -> bool:
        """Let `unit` leave once; say whether nothing lives in the scope any more."""
        if self._cells.get(scope, "left", unit) is not None:
            return False
        fate = self._cells.get(scope, "fate", unit)
        if fate is not None and fate[1]:
            return False  # a child of another attempt is already being followed
        self._cells.put(scope, "left", unit, value)
        if fate is None:
            self._cells.put(scope, "fate", unit, ("end", 0))
        return self._live(scope, -1) == 0

    def abort(self, ask: Abort) -> bool:
        """Close an item's scope with an error. The first to do so, or to end it, stands."""
        cells, top = self._cells, ask.lineage[-1]
        slot = cells.get(top.split_token, "slot", str(top.item_index))
        if slot is not None:
            return cast(bool, slot[0] == ask.by)
        closed = cells.get(ask.scope, "closed", "")
        if closed is not None:
            return cast(bool, closed[0] == ask.by)
        fate = cells.get(ask.scope, "fate", ask.unit)
        if (fate is not None and fate[1]) or not self._holds(top.split_token, ask.by):
            return False
        cells.put(ask.scope, "closed", "", (ask.by, ask.error))
        return True
