"""The coordination algorithm: exactly-once routing on at-least-once delivery.

This is the pure state machine that the memory and SQLite backends share; the Redis scripts say the
same in Lua, and a differential test holds the two equal. Every method is one atomic step, and
repeating it with the same arguments gives the same answer. User data is never read: values are
opaque bytes.

Rule 1: what decides a transition is in this file; nowhere else.
Rule 2: nothing is ever counted that can be named. Slots are filled, edges arrive, units leave.

`Coordination` has one section for each kind of thing that can be shared: claim, scopes, split
barriers, merges, signals, and the life of the run itself. `answer` at its end is the way in for
every effect that asks the coordinator something.

The state of one run is a set of *cells*, grouped so that a group can be dropped whole:

    group ""            the run itself, which is also the root scope
    group "<split>/<i>" the scope of item i of one run of a split
    group "<split>"     the barrier of one run of a split

    kind      field          value                           in
    live      -              tokens alive in the scope       scope (1 when absent)
    fate      token id       (tag, children)                 scope: the outcome being followed
    owner     token id       publish id                      scope: which copy of a token runs
    record    token id       outcome bytes                   scope: fixed before several effects
    left      unit           value bytes                     scope: what ended here
    closed    -              (by, error bytes or None)       scope: closed, its slot not yet filled
    dead      edge           1                               scope
    merge     node           (opened by or "", discarded)    scope
    arrival   node \\x1f edge  (unit, payload)                 scope
    split     split          1                               scope: barriers to drop with it
    taken     unit           (signal or "", content)         scope: the result of a wait
    signal    address        [(signal, content)]             run: signals not taken yet
    waiter    address        [(unit, [(split, index)])]      run: the units that wait for one
    heard     signal         the unit that has it, or ""     run: every signal received
    head      -              BarrierHead as a tuple          barrier
    origin    -              the split's token               barrier
    slot      index          FilledSlot as a tuple           barrier
    value     index          value bytes                     barrier
    done      -              (by, completion bytes or None)  run
    born      -              1                               run: without it, the state was lost
    paused    -              1 or 0                          run: no token may be executed
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import msgspec

from onward.kernel.cells import Cells
from onward.kernel.effects import (
    Abort,
    Aborted,
    Adjust,
    Arrive,
    Asks,
    Await,
    Begin,
    Close,
    Closed,
    Deliver,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Fill,
    Forget,
    Late,
    Leave,
    Open,
    Opened,
    Overdue,
    Pause,
    Pending,
    R,
    Record,
    Resolve,
    Restore,
    Scatter,
    Skip,
    Slot,
    SlotFilled,
    Stands,
    Supersede,
    Superseded,
    Taken,
    TryOpen,
    Values,
)
from onward.kernel.lineage import ROOT, Frame, Lineage, item_scope, scope_of
from onward.kernel.messages import CompletionMessage, Token, encode_message
from onward.kernel.verdicts import (
    CLOSED,
    DUPLICATE,
    LOST,
    SETTLED,
    SUPERSEDED,
    Execute,
    Finish,
    Park,
    Verdict,
)

_completions = msgspec.json.Decoder(CompletionMessage)

LIFE_OF_A_RUN = (Begin, Restore, Supersede, Close, Forget, Pause)
"""Effects on the state as a whole: each has its own rule for a run that has ended."""
SUPERSEDER = "superseded"
"""Stands in the place of a message id in the `done` cell of a state that was replaced."""
UNIT_SEPARATOR = "\x1f"
"""Between the node and the edge in the field of an `arrival` cell."""


class BarrierHead(NamedTuple):
    """The barrier of one run of a split, as its `head` cell holds it."""

    total: int
    window: int
    budget: int | None
    next: int
    filled: int = 0
    failed: int = 0
    closed_by: str = ""
    verdict: str = ""  # "opened", "failed" or "overdue"
    discarded: bool = False


class FilledSlot(NamedTuple):
    """A slot that was filled: by which message, and the items that this released."""

    by: str
    first: int
    released: int


class Coordination:
    """The coordination of one run: operations on its cells."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    # -- claim -------------------------------------------------------------------------------------

    def claim(self, token: Token) -> Verdict:
        """Return whether the bearer of `token` may execute it: one round trip, before all else."""
        closed = self._closed(token.lineage_stack, token.token_id)
        if closed is not None:
            return closed
        cells, scope = self._cells, token.scope
        if cells.get(ROOT, "born", "") is None:
            return LOST
        if self.paused:
            return Park()  # before anything is written: it never happened
        fate = cells.get(scope, "fate", token.parent)
        if fate is None:
            self._settle(scope, token.parent, token.outcome, token.siblings)
        elif fate[0] != token.outcome:
            return SUPERSEDED
        owner = cells.get(scope, "owner", token.token_id)
        if owner is None:
            cells.put(scope, "owner", token.token_id, token.publish_id)
        elif owner != token.publish_id:
            return DUPLICATE
        recorded = cells.get(scope, "record", token.token_id)
        if recorded is not None:
            return Execute(recorded)
        own = cells.get(scope, "fate", token.token_id)
        if own is not None and own[1] == 1:
            return SETTLED  # its only child is already on its way
        return Execute()

    def _closed(self, lineage: Lineage, by: str) -> Verdict | None:
        """Return the verdict if the run or a scope on this lineage is closed; None if all are open.

        From the outside in: the message that closed an outer scope was done with the inner ones.
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

    # -- scopes ------------------------------------------------------------------------------------
    #
    # A scope is the run itself, or one item of a split. It knows how many tokens live in it and
    # which outcome of each step is being followed; the last unit that leaves closes it.

    def record(self, ask: Record) -> Stands | Superseded:
        """Record an outcome; an earlier one stands, and a child already followed outranks it."""
        earlier = self._cells.get(ask.scope, "record", ask.token_id)
        if earlier is not None:
            return Stands(earlier)
        if self._cells.get(ask.scope, "fate", ask.token_id) is not None:
            return Superseded()
        self._cells.put(ask.scope, "record", ask.token_id, ask.outcome)
        if ask.siblings:
            self._settle(ask.scope, ask.token_id, ask.tag, ask.siblings)
        else:
            # Its unit will leave or abort, which adjusts `live`; the tag alone outranks the
            # children that another attempt may have published.
            self._cells.put(ask.scope, "fate", ask.token_id, (ask.tag, 0))
        return Stands(ask.outcome)

    def _settle(self, scope: str, unit: str, tag: str, siblings: int) -> None:
        """Fix which outcome of `unit` is followed: one live token becomes `siblings` of them."""
        self._cells.put(scope, "fate", unit, (tag, siblings))
        if siblings != 1:
            self._live(scope, siblings - 1)

    def _live(self, scope: str, change: int) -> int:
        live = self._cells.get(scope, "live", "")
        live = (1 if live is None else live) + change
        self._cells.put(scope, "live", "", live)
        return cast(int, live)

    def leave(self, ask: Leave) -> Open | Closed | Aborted | SlotFilled:
        """Let a unit leave its scope; the last one closes it, and only that one gets `Closed`."""
        cells = self._cells
        if ask.lineage:
            top = ask.lineage[-1]
            slot = cells.get(top.split_token, "slot", str(top.item_index))
            if slot is not None:
                return SlotFilled() if slot[0] == ask.by else Open()
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
        """Let `unit` leave, once; return whether that leaves the scope empty."""
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
        """Close an item's scope with an error, unless another message closed it first."""
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

    # -- split barriers ----------------------------------------------------------------------------
    #
    # Slots are filled, never counted, and the message that fills the last one opens the barrier. A
    # barrier belongs to one run of a split, so the items of nested splits never mix.

    def scatter(self, ask: Scatter) -> bool:
        """Declare a barrier; the first declaration stands."""
        if self._closed(ask.lineage, ask.split) is not None:
            return False  # a slow worker must not declare a barrier in a scope that is closed
        head = self._head(ask.split)
        if head is not None:
            return not head.closed_by
        first = min(ask.total, ask.window)
        self._put_head(ask.split, BarrierHead(ask.total, ask.window, ask.budget, first))
        self._cells.put(ask.split, "origin", "", ask.origin)
        self._cells.put(ask.scope, "split", ask.split, 1)
        return True

    def adjust(self, ask: Adjust) -> bool:
        """Change the window and the budget of a barrier that still waits for items."""
        head = self._head(ask.split)
        if head is None or head.closed_by or head.discarded:
            return False
        self._put_head(ask.split, head._replace(window=ask.window, budget=ask.budget))
        return True

    def fill(self, ask: Fill) -> Slot | None:
        """Fill one slot, release the items that may start now, and judge the barrier."""
        cells, head = self._cells, self._head(ask.split)
        if head is None or head.discarded:
            return None
        cell = cells.get(ask.split, "slot", str(ask.index))
        if cell is not None:
            slot = FilledSlot(*cell)
            if slot.by != ask.by:
                return None
        elif head.closed_by:
            return None
        else:
            head, slot = self._fill_slot(head, ask)
        return Slot(
            verdict=head.verdict if head.closed_by == ask.by else "",  # type: ignore[arg-type]
            start=slot.first,
            count=slot.released,
            filled=head.filled,
            failed=head.failed,
            total=head.total,
            origin=cells.get(ask.split, "origin", ""),
        )

    def _fill_slot(self, head: BarrierHead, ask: Fill) -> tuple[BarrierHead, FilledSlot]:
        filled, failed = head.filled + 1, head.failed + ask.failed
        over = head.budget is not None and failed > head.budget
        free = head.window - (head.next - filled)
        count = 0 if over else max(0, min(free, head.total - head.next))
        slot = FilledSlot(ask.by, head.next, count)
        verdict = "failed" if over else "opened" if filled == head.total else ""
        head = head._replace(
            filled=filled,
            failed=failed,
            next=head.next + count,
            closed_by=ask.by if verdict else "",
            verdict=verdict,
        )
        self._put_head(ask.split, head)
        self._cells.put(ask.split, "slot", str(ask.index), tuple(slot))
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
            return None  # a forged message filled a slot that does not exist
        return [values[name] for name in names]

    def overdue(self, ask: Overdue) -> bytes | None:
        """Close a barrier whose deadline has passed, unless it opened first."""
        head = self._head(ask.split)
        if head is None or head.discarded or head.closed_by not in ("", ask.by):
            return None
        if not head.closed_by:
            self._put_head(ask.split, head._replace(closed_by=ask.by, verdict="overdue"))
        return cast(bytes, self._cells.get(ask.split, "origin", ""))

    def discard_split(self, ask: DiscardSplit) -> None:
        """Keep only the tombstone: late items must still find the barrier closed."""
        head = self._head(ask.split)
        if head is None or head.discarded:
            return
        self._drop_items(ask.split, head)
        self._cells.drop(ask.split)
        self._put_head(ask.split, head._replace(discarded=True))

    def _head(self, split: str) -> BarrierHead | None:
        head = self._cells.get(split, "head", "")
        return None if head is None else BarrierHead(*head)

    def _put_head(self, split: str, head: BarrierHead) -> None:
        self._cells.put(split, "head", "", tuple(head))

    def _holds(self, split: str, by: str) -> bool:
        """Return whether the barrier is open, or was closed by `by` itself."""
        head = self._head(split)
        return head is not None and not head.discarded and head.closed_by in ("", by)

    def _drop_scope(self, scope: str) -> None:
        for split in tuple(self._cells.all(scope, "split")):
            head = self._head(split)
            if head is not None:
                self._drop_items(split, head)
            self._cells.drop(split)
        self._cells.drop(scope)

    def _drop_items(self, split: str, head: BarrierHead) -> None:
        """Drop the scopes of items that were sent and never filled their slot."""
        if head.verdict == "opened":
            return
        slots = self._cells.all(split, "slot")
        for index in range(head.next):
            if str(index) not in slots:
                self._drop_scope(item_scope(split, index))

    # -- merges ------------------------------------------------------------------------------------
    #
    # One arrival for each incoming edge; a dead edge needs none. A merge belongs to one scope, and
    # opens once.

    def arrive(self, ask: Arrive) -> Pending | Late | Opened:
        """Save an arrival; the first by each edge stands. The last one opens the merge."""
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

    def skip(self, ask: Skip) -> frozenset[str]:
        """Mark edges dead and return every dead edge. Monotone, so concurrent skips converge."""
        for edge in ask.edges:
            self._cells.put(ask.scope, "dead", edge, 1)
        return frozenset(self._cells.all(ask.scope, "dead"))

    def try_open(self, ask: TryOpen) -> Opened | None:
        """Open a merge that dead edges have completed."""
        return self._try_open(ask.scope, ask.node, ask.by, ask.expected, ask.quota)

    def expire_merge(self, ask: ExpireMerge) -> Opened | None:
        """Open a merge whose deadline has passed with what has arrived, unless it opened first."""
        arrivals = self._arrivals(ask.scope, ask.node)
        if self._cells.get(ask.scope, "merge", ask.node) is None:
            if not arrivals:
                return None
            self._open(ask.scope, ask.node, ask.by, len(arrivals))
        return self._reopen(ask.scope, ask.node, ask.by, arrivals)

    def discard_merge(self, ask: DiscardMerge) -> None:
        """Drop the payloads that arrived; the tombstone and the names of the arrivals stay."""
        merge = self._cells.get(ask.scope, "merge", ask.node)
        if merge is None:
            return
        self._cells.put(ask.scope, "merge", ask.node, (merge[0], True))
        for edge, (unit, _) in self._arrivals(ask.scope, ask.node).items():
            field = f"{ask.node}{UNIT_SEPARATOR}{edge}"
            self._cells.put(ask.scope, "arrival", field, (unit, b""))

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
        # Everything that arrived continues as one unit.
        self._live(scope, 1 - arrived)

    def _reopen(
        self, scope: str, node: str, by: str, arrivals: dict[str, tuple[str, bytes]]
    ) -> Opened | None:
        opened_by, discarded = self._cells.get(scope, "merge", node)
        if opened_by != by or discarded:
            return None
        return Opened({edge: payload for edge, (_, payload) in arrivals.items()})

    # -- signals -----------------------------------------------------------------------------------
    #
    # Both sides are one atomic step on the same cells, so that a signal and a wait can never miss
    # each other. Each signal is taken by one wait, in the order of arrival. A wait that has timed
    # out, or whose scope is closed, takes nothing.

    def await_signal(self, ask: Await) -> Taken | None:
        """Take the first signal saved at an address. None: the unit waits, or its scope closed."""
        if self._closed(ask.lineage, ask.by) is not None:
            return None
        taken = self._cells.get(ask.scope, "taken", ask.by)
        if taken is not None:
            return Taken(*taken)
        saved = self._list("signal", ask.address)
        if saved:
            signal, content = saved[0]
            self._cells.put(ROOT, "signal", ask.address, tuple(saved[1:]))
            return self._give(ask.scope, ask.by, signal, content)
        waiting = self._list("waiter", ask.address)
        if all(unit != ask.by for unit, _ in waiting):
            path = [(frame.split_token, frame.item_index) for frame in ask.lineage]
            self._cells.put(ROOT, "waiter", ask.address, (*waiting, (ask.by, path)))
        return None

    def deliver(self, ask: Deliver) -> str | None:
        """Give a signal to the first unit that waits for it and return that unit, or save it."""
        heard = self._cells.get(ROOT, "heard", ask.by)
        if heard is not None:
            return cast(str, heard) or None
        waiting = self._list("waiter", ask.address)
        for position, (unit, path) in enumerate(waiting):
            lineage = _lineage(path)
            if self._closed(lineage, "") is None:
                self._cells.put(ROOT, "waiter", ask.address, tuple(waiting[position + 1 :]))
                self._give(scope_of(lineage), unit, ask.by, ask.content)
                return cast(str, unit)
        if waiting:
            self._cells.put(ROOT, "waiter", ask.address, ())
        saved = self._list("signal", ask.address)
        self._cells.put(ROOT, "signal", ask.address, (*saved, (ask.by, ask.content)))
        self._cells.put(ROOT, "heard", ask.by, "")
        return None

    def resolve(self, ask: Resolve) -> Taken | None:
        """Return the signal that a unit has taken; a unit that has none stops waiting, for good."""
        taken = self._cells.get(ask.scope, "taken", ask.unit)
        if taken is not None:
            return Taken(*taken)
        waiting = self._list("waiter", ask.address)
        others = tuple(waiter for waiter in waiting if waiter[0] != ask.unit)
        if len(others) != len(waiting):
            self._cells.put(ROOT, "waiter", ask.address, others)
        self._cells.put(ask.scope, "taken", ask.unit, ("", b""))
        return Taken("", b"")

    def _give(self, scope: str, unit: str, signal: str, content: bytes) -> Taken:
        self._cells.put(ROOT, "heard", signal, unit)
        self._cells.put(scope, "taken", unit, (signal, content))
        return Taken(signal, content)

    def _list(self, kind: str, address: str) -> list[Any]:
        return list(self._cells.get(ROOT, kind, address) or ())

    # -- life of a run -----------------------------------------------------------------------------

    def begin(self, _: Begin) -> None:
        """Create the state of the run, unless it has ended."""
        if self._cells.get(ROOT, "done", "") is None:
            self._cells.put(ROOT, "born", "", 1)

    @property
    def paused(self) -> bool:
        """Whether the run is paused: its tokens are parked instead of executed."""
        return bool(self._cells.get(ROOT, "paused", ""))

    def pause(self, ask: Pause) -> bool:
        """Pause or resume the run. False: it has ended, or its state is lost."""
        born, done = (self._cells.get(ROOT, kind, "") for kind in ("born", "done"))
        if born is None or done is not None:
            return False
        self._cells.put(ROOT, "paused", "", int(ask.on))
        return True

    def close(self, ask: Close) -> CompletionMessage | None:
        """End the run, once. The message that ended it gets the same completion every time."""
        done = self._cells.get(ROOT, "done", "")
        if done is None:
            if ask.message is None:
                return None
            fate = self._cells.get(ROOT, "fate", ask.unit)
            if fate is not None and fate[1]:
                return None  # a child of another attempt is already being followed
            done = (ask.by, encode_message(ask.message))
            self._cells.put(ROOT, "done", "", done)
        if done[0] != ask.by or done[1] is None:
            return None
        return _completions.decode(done[1])

    def forget(self, _: Forget) -> None:
        """Drop everything but the tombstone of a run that ended."""
        done = self._cells.get(ROOT, "done", "")
        if done is None:
            return
        for group in self._cells.groups():
            self._cells.drop(group)
        self._cells.put(ROOT, "done", "", (done[0], None))

    def restore(self, ask: Restore) -> None:
        """Record an outcome known from the history; one that is already recorded stands."""
        if self._cells.get(ROOT, "done", "") is not None:
            return
        if self._cells.get(ask.scope, "record", ask.token_id) is None:
            self._cells.put(ask.scope, "record", ask.token_id, ask.outcome)

    def supersede(self, _: Supersede) -> CompletionMessage | None:
        """Close this state for good, unless the run has ended in it: then return its completion."""
        done = self._cells.get(ROOT, "done", "")
        if done is not None and done[1] is not None:
            return _completions.decode(done[1])
        if done is None:
            self._cells.put(ROOT, "done", "", (SUPERSEDER, None))
        self.forget(Forget())
        return None

    # -- dispatch ----------------------------------------------------------------------------------

    def answer(self, effect: Asks[R]) -> R:
        """Answer any effect that is a question to the coordinator.

        After the run has ended only the message that ended it still gets answers, and after the
        completion is published no message does: a worker that was slow to notice must not write new
        state. Nor may one that outlived the run's state: half a state would let the run end early.
        """
        if isinstance(effect, LIFE_OF_A_RUN):
            return cast(R, self._methods[type(effect)](self, effect))
        if self._cells.get(ROOT, "born", "") is None:
            return cast(R, self._over(effect))
        done = self._cells.get(ROOT, "done", "")
        if done is not None and (done[1] is None or done[0] != getattr(effect, "by", done[0])):
            return cast(R, self._over(effect))
        return cast(R, self._methods[type(effect)](self, effect))

    @staticmethod
    def _over(effect: Asks[Any]) -> Any:
        match effect:
            case Record():
                return Superseded()
            case Scatter() | Abort() | Adjust():
                return False
            case Leave():
                return Open()
            case Arrive():
                return Late()
            case Skip():
                return effect.edges
            case _:
                return None

    _methods: dict[type, Callable[[Any, Any], Any]] = {  # noqa: RUF012 (a constant table)
        Record: record,
        Scatter: scatter,
        Leave: leave,
        Abort: abort,
        Fill: fill,
        Values: values,
        Overdue: overdue,
        DiscardSplit: discard_split,
        Arrive: arrive,
        Skip: skip,
        TryOpen: try_open,
        ExpireMerge: expire_merge,
        DiscardMerge: discard_merge,
        Await: await_signal,
        Deliver: deliver,
        Resolve: resolve,
        Close: close,
        Forget: forget,
        Begin: begin,
        Restore: restore,
        Supersede: supersede,
        Pause: pause,
        Adjust: adjust,
    }


def _lineage(path: list[tuple[str, int]]) -> Lineage:
    """Return as much of a lineage as `_closed` needs."""
    return tuple(Frame("", "", index, 0, split) for split, index in path)
