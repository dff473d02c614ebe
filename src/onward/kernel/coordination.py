"""The coordination algorithm: exactly-once routing on at-least-once delivery.

This is the pure state machine that the memory and SQLite backends share; the Redis scripts say the
same in Lua. Every method is one atomic step, and repeating it with the same arguments gives the
same answer. It never looks inside user data: values are opaque bytes.

Rule 1: what decides a transition is in `barriers`, `scopes`, `merges`, `signals` or here; nowhere
else.
Rule 2: nothing is ever counted that can be named. Slots are filled, edges arrive, units leave.

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
    taken     unit           (signal or "", content)         scope: what a wait came to
    signal    address        [(signal, content)]             run: signals that nobody has taken
    waiter    address        [(unit, [(split, index)])]      run: who waits for one
    heard     signal         the unit that has it, or ""     run: every signal there was
    head      -              Head as a tuple                 barrier
    origin    -              the split's token               barrier
    slot      index          (by, start, count)              barrier
    value     index          value bytes                     barrier
    done      -              (by, completion bytes or None)  run
    born      -              1                               run: without it, the state was lost
    paused    -              1 or 0                          run: nothing may begin
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from onward.kernel.claims import (
    DUPLICATE,
    LOST,
    SETTLED,
    SUPERSEDED,
    Park,
    Run,
    Verdict,
)
from onward.kernel.effects import (
    Abort,
    Adjust,
    Arrive,
    Asks,
    Await,
    Begin,
    Close,
    Deliver,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Fill,
    Forget,
    Late,
    Leave,
    Open,
    Overdue,
    Pause,
    R,
    Record,
    Resolve,
    Restore,
    Scatter,
    Skip,
    Supersede,
    Superseded,
    TryOpen,
    Values,
)
from onward.kernel.lineage import ROOT
from onward.kernel.messages import CompletionMessage, Token, encode_message
from onward.kernel.signals import Signals

_completions = msgspec.json.Decoder(CompletionMessage)

LIFE = (Begin, Restore, Supersede, Close, Forget, Pause)
"""What is about the life of the state itself: each of them knows what a run that ended may do."""
SUPERSEDER = "superseded"


class Coordination(Signals):
    """The operations on one run's cells."""

    # -- claim ---------------------------------------------------------------------------------

    def claim(self, token: Token) -> Verdict:
        """Say whether the bearer of `token` may execute it: one round trip, before all else."""
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
            return Run(recorded)
        own = cells.get(scope, "fate", token.token_id)
        if own is not None and own[1] == 1:
            return SETTLED  # its only child is already on its way
        return Run()

    # -- the end of the run --------------------------------------------------------------------

    def close(self, ask: Close) -> CompletionMessage | None:
        """End the run once. Whoever ended it gets the same completion however often it asks."""
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

    # -- its beginning, and another one when the state was lost ----------------------------------

    def begin(self, _: Begin) -> None:
        """Let the run begin."""
        if self._cells.get(ROOT, "done", "") is None:
            self._cells.put(ROOT, "born", "", 1)

    def restore(self, ask: Restore) -> None:
        """Put an outcome on record that history knows; what is on record stands."""
        if self._cells.get(ROOT, "done", "") is not None:
            return
        if self._cells.get(ask.scope, "record", ask.token_id) is None:
            self._cells.put(ask.scope, "record", ask.token_id, ask.outcome)

    def supersede(self, _: Supersede) -> CompletionMessage | None:
        """Close a state for good, unless the run has ended in it."""
        done = self._cells.get(ROOT, "done", "")
        if done is not None and done[1] is not None:
            return _completions.decode(done[1])
        if done is None:
            self._cells.put(ROOT, "done", "", (SUPERSEDER, None))
        self.forget(Forget())
        return None

    # -- standing still ------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Return whether nothing of the run may begin."""
        return bool(self._cells.get(ROOT, "paused", ""))

    def pause(self, ask: Pause) -> bool:
        """Let nothing begin, or let it again."""
        born, done = (self._cells.get(ROOT, kind, "") for kind in ("born", "done"))
        if born is None or done is not None:
            return False
        self._cells.put(ROOT, "paused", "", int(ask.on))
        return True

    # -- by name -------------------------------------------------------------------------------

    def answer(self, effect: Asks[R]) -> R:
        """Answer any question of the kernel that is about coordination.

        After the run has ended only the message that ended it still gets answers, and after the
        end is published nobody does: a worker that was slow to notice must not write new state.
        Nor may one that outlived the run's state: half a state would let the run end too early.
        """
        if isinstance(effect, LIFE):
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
        Record: Signals.record,
        Scatter: Signals.scatter,
        Leave: Signals.leave,
        Abort: Signals.abort,
        Fill: Signals.fill,
        Values: Signals.values,
        Overdue: Signals.overdue,
        DiscardSplit: Signals.discard_split,
        Arrive: Signals.arrive,
        Skip: Signals.skip,
        TryOpen: Signals.try_open,
        ExpireMerge: Signals.expire_merge,
        DiscardMerge: Signals.discard_merge,
        Await: Signals.await_signal,
        Deliver: Signals.deliver,
        Resolve: Signals.resolve,
        Close: close,
        Forget: forget,
        Begin: begin,
        Restore: restore,
        Supersede: supersede,
        Pause: pause,
        Adjust: Signals.adjust,
    }
