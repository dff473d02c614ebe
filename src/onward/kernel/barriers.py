"""Split barriers: slots are filled, never counted, and whoever fills the last one opens it."""

from __future__ import annotations

from typing import NamedTuple, cast

from onward.kernel.cells import Cells
from onward.kernel.claims import CLOSED, Finish, Verdict
from onward.kernel.effects import Adjust, DiscardSplit, Fill, Overdue, Scatter, Slot, Values
from onward.kernel.lineage import ROOT, Lineage, item_scope


class Head(NamedTuple):
    """The barrier of one run of a split."""

    total: int
    window: int
    budget: int | None
    next: int
    filled: int = 0
    failed: int = 0
    closed_by: str = ""
    verdict: str = ""  # "opened", "failed" or "overdue"
    discarded: bool = False


class Barriers:
    """The barrier of each run of a split; it belongs to that run, so nested ones never mix."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def _head(self, split: str) -> Head | None:
        head = self._cells.get(split, "head", "")
        return None if head is None else Head(*head)

    def _closed(self, lineage: Lineage, by: str) -> Verdict | None:
        """Is the run, or any scope on this lineage, closed? By another, or by `by` itself?

        From the outside in: whoever closed an outer scope had finished with the inner ones.
        """
        done = self._cells.get(ROOT, "done", "")
        if done is not None:
            return Finish(0) if done[0] == by and done[1] is not None else CLOSED
        closed = self._cells.get(ROOT, "closed", "")
        if closed is not None:
            return Finish(0) if closed[0] == by else CLOSED
        for depth, frame in enumerate(lineage, 1):
            head = self._head(frame.split_token)
            if head is None or head.discarded or head.closed_by not in ("", by):
                return CLOSED
            closed = self._cells.get(
                frame.split_token, "slot", str(frame.item_index)
            ) or self._cells.get(item_scope(frame.split_token, frame.item_index), "closed", "")
            if closed is not None:
                return Finish(depth) if closed[0] == by else CLOSED
        return None

    def _holds(self, split: str, by: str) -> bool:
        """Return whether the barrier still waits for its items, as far as `by` is concerned."""
        head = self._head(split)
        return head is not None and not head.discarded and head.closed_by in ("", by)

    def scatter(self, ask: Scatter) -> bool:
        """Declare a barrier; the first declaration stands."""
        if self._closed(ask.lineage, ask.split) is not None:
            return False  # a slow worker must not open a barrier in a scope that is gone
        head = self._head(ask.split)
        if head is not None:
            return not head.closed_by
        first = min(ask.total, ask.window)
        head = Head(ask.total, ask.window, ask.budget, first)
        self._cells.put(ask.split, "head", "", tuple(head))
        self._cells.put(ask.split, "origin", "", ask.origin)
        self._cells.put(ask.scope, "split", ask.split, 1)
        return True

    def adjust(self, ask: Adjust) -> bool:
        """Change the window and the budget of a barrier that still waits for items."""
        head = self._head(ask.split)
        if head is None or head.closed_by or head.discarded:
            return False
        head = head._replace(window=ask.window, budget=ask.budget)
        self._cells.put(ask.split, "head", "", tuple(head))
        return True

    def fill(self, ask: Fill) -> Slot | None:
        """Fill one slot, release what may start in its place, and judge the barrier."""
        cells, field = self._cells, str(ask.index)
        head = self._head(ask.split)
        if head is None or head.discarded:
            return None
        slot = cells.get(ask.split, "slot", field)
        if slot is None:
            if head.closed_by:
                return None
            head, slot = self._filled(head, ask)
        elif slot[0] != ask.by:
            return None
        return Slot(
            verdict=head.verdict if head.closed_by == ask.by else "",  # type: ignore[arg-type]
            start=slot[1],
            count=slot[2],
            filled=head.filled,
            failed=head.failed,
            total=head.total,
            origin=cells.get(ask.split, "origin", ""),
        )

    def _filled(self, head: Head, ask: Fill) -> tuple[Head, tuple[str, int, int]]:
        filled, failed = head.filled + 1, head.failed + ask.failed
        over = head.budget is not None and failed > head.budget
        free = head.window - (head.next - filled)
        count = 0 if over else max(0, min(free, head.total - head.next))
        slot = (ask.by, head.next, count)
        verdict = "failed" if over else "opened" if filled == head.total else ""
        head = head._replace(
            filled=filled,
            failed=failed,
            next=head.next + count,
            closed_by=ask.by if verdict else "",
            verdict=verdict,
        )
        self._cells.put(ask.split, "head", "", tuple(head))
        self._cells.put(ask.split, "slot", str(ask.index), slot)
        self._cells.put(ask.split, "value", str(ask.index), ask.value)
        self._drop_scope(item_scope(ask.split, ask.index))
        return head, slot

    def values(self, ask: Values) -> list[bytes] | None:
        """Return the slots of an opened barrier, in item order, until it is discarded."""
        head = self._head(ask.split)
        if head is None or head.discarded or head.verdict != "opened":
            return None
        values = self._cells.all(ask.split, "value")
        names = [str(index) for index in range(head.total)]
        if any(name not in values for name in names):
            return None  # a forged message filled a slot that there is not
        return [values[name] for name in names]

    def overdue(self, ask: Overdue) -> bytes | None:
        """Close a barrier that took too long, unless it opened first."""
        head = self._head(ask.split)
        if head is None or head.discarded or head.closed_by not in ("", ask.by):
            return None
        if not head.closed_by:
            head = head._replace(closed_by=ask.by, verdict="overdue")
            self._cells.put(ask.split, "head", "", tuple(head))
        return cast(bytes, self._cells.get(ask.split, "origin", ""))

    def discard_split(self, ask: DiscardSplit) -> None:
        """Keep only the tombstone: late items must still find the barrier closed."""
        head = self._head(ask.split)
        if head is None or head.discarded:
            return
        self._drop_items(ask.split, head)
        self._cells.drop(ask.split)
        head = head._replace(discarded=True)
        self._cells.put(ask.split, "head", "", tuple(head))

    def _drop_scope(self, scope: str) -> None:
        for split in tuple(self._cells.all(scope, "split")):
            head = self._head(split)
            if head is not None:
                self._drop_items(split, head)
            self._cells.drop(split)
        self._cells.drop(scope)

    def _drop_items(self, split: str, head: Head) -> None:
        """Drop the scopes of items that were sent and never filled their slot."""
        if head.verdict == "opened":
            return
        slots = self._cells.all(split, "slot")
        for index in range(head.next):
            if str(index) not in slots:
                self._drop_scope(item_scope(split, index))
