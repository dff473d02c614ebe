"""What the kernel asks for: a closed sum of effects, and the answers to those that are questions.

A judgement is a generator. It yields effects one at a time, in the order that makes a crash between
any two of them harmless, and receives the answer to each that `Asks`. It does nothing itself, so
the same judgement runs inside one SQLite transaction, against Redis, or in the simulator, where the
world may end between any two yields.

`by` is always the id of the message being handled. The closing of a scope and the opening of a
barrier are saved with it, because exactly that message is delivered again if its handler dies
before the end; it then gets the same answers, and no other message ever does.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload, Ref
from onward.kernel.lineage import Lineage
from onward.kernel.messages import CompletionMessage, Progress, Status, Token
from onward.kernel.outcome import NodeError

R = TypeVar("R")
T = TypeVar("T")


class Asks(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """An effect with an answer of type R."""


# -- effects without an answer -------------------------------------------------------------------


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Report the status of a node. Of reports with the same `merge_key` only the newest counts."""

    token: Token
    node: str
    status: Status
    lineage: Lineage
    output: Raw | None = None
    error: NodeError | None = None
    progress: Progress | None = None
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    merge_key: str = ""


class Publish(msgspec.Struct, frozen=True):
    """Publish a token."""

    token: Token


class StorePayload(msgspec.Struct, frozen=True):
    """Store a payload under its content address."""

    payload: Payload


class SetTimer(msgspec.Struct, frozen=True):
    """Publish `token` at `due_ms`. The token's id names the timer: the first setting stands."""

    token: Token
    due_ms: int


class CancelTimer(msgspec.Struct, frozen=True):
    """Cancel a timer that is no longer needed."""

    token_id: str


class Hasten(msgspec.Struct, frozen=True):
    """Fire a timer now. Without effect on one that has fired or was cancelled."""

    token_id: str


class WriteLog(msgspec.Struct, frozen=True):
    """Write a line to the log of the process, on behalf of a log node."""

    token: Token
    level: str
    message: Any


class Complete(msgspec.Struct, frozen=True):
    """Publish the completion of the run."""

    message: CompletionMessage


# -- questions to the coordinator ----------------------------------------------------------------


class Superseded(msgspec.Struct, frozen=True):
    """Answer: another outcome of the same token is already being followed."""


class Stands(msgspec.Struct, frozen=True):
    """Answer: the recorded outcome, which may be an earlier attempt's."""

    outcome: bytes


class Record(Asks[Stands | Superseded], frozen=True, kw_only=True):
    """Record a token's outcome before its effects, when they are more than one publish."""

    scope: str
    token_id: str
    tag: str
    siblings: int
    outcome: bytes


class Scatter(Asks[bool], frozen=True, kw_only=True):
    """Declare a split barrier. False: it, or a scope around it, is closed; publish no items."""

    scope: str
    lineage: Lineage
    split: str
    total: int
    window: int
    budget: int | None
    origin: bytes


class Open(msgspec.Struct, frozen=True):
    """Answer: the scope is open, or another message closed it."""


class Closed(msgspec.Struct, frozen=True):
    """Answer: this message closed the scope. `left` holds the value of each unit."""

    left: dict[str, bytes]


class Aborted(msgspec.Struct, frozen=True):
    """Answer: this message aborted the scope."""

    error: bytes


class SlotFilled(msgspec.Struct, frozen=True):
    """Answer: this message closed the scope, and has filled its slot already."""


class Leave(Asks[Open | Closed | Aborted | SlotFilled], frozen=True, kw_only=True):
    """Let `unit` leave its scope. Without a unit: only ask whether this message closed it."""

    scope: str
    lineage: Lineage
    unit: str | None
    by: str
    value: bytes = b""


class Abort(Asks[bool], frozen=True, kw_only=True):
    """Close an item's scope with an error, whatever still lives in it. True: this message did."""

    scope: str
    lineage: Lineage
    unit: str
    by: str
    error: bytes


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Answer: this message filled the slot. `verdict` is what that did to the barrier."""

    verdict: Literal["", "opened", "failed"]
    start: int
    count: int
    """The items from `start` that may be published now, because this one is done."""
    filled: int
    failed: int
    total: int
    origin: bytes


class Fill(Asks[Slot | None], frozen=True, kw_only=True):
    """Fill the slot of a closed item scope. None: another message did, or the barrier is closed."""

    split: str
    index: int
    by: str
    value: bytes
    failed: bool


class Values(Asks[list[bytes] | None], frozen=True, kw_only=True):
    """Ask for the slots of an opened barrier, in item order. None: what follows is done already."""

    split: str


class Overdue(Asks[bytes | None], frozen=True, kw_only=True):
    """Close a split barrier whose deadline has passed. Its origin, if this message closed it."""

    split: str
    by: str


class DiscardSplit(Asks[None], frozen=True, kw_only=True):
    """Drop a barrier but for its tombstone: everything that follows it is published."""

    split: str


class Pending(msgspec.Struct, frozen=True):
    """Answer: the merge waits for more arrivals."""

    arrived: int


class Late(msgspec.Struct, frozen=True):
    """Answer: the merge opened before, or another token arrived by the same edge."""


class Opened(msgspec.Struct, frozen=True):
    """Answer: this message opened the merge. The arrivals, by edge."""

    arrivals: dict[str, bytes]


class Arrive(Asks[Pending | Late | Opened], frozen=True, kw_only=True):
    """Arrive at a merge by one of its edges. `quota`: how many are enough; None is all."""

    scope: str
    node: str
    edge: str
    unit: str
    by: str
    payload: bytes
    expected: tuple[str, ...]
    quota: int | None


class Skip(Asks[frozenset[str]], frozen=True, kw_only=True):
    """Mark edges dead in a scope. All dead edges there, so that concurrent decisions converge."""

    scope: str
    edges: frozenset[str]


class TryOpen(Asks[Opened | None], frozen=True, kw_only=True):
    """Open a merge if every expected edge has arrived or is dead."""

    scope: str
    node: str
    by: str
    expected: tuple[str, ...]
    quota: int | None


class ExpireMerge(Asks[Opened | None], frozen=True, kw_only=True):
    """Open a merge whose deadline has passed. What had arrived, if this message opened it."""

    scope: str
    node: str
    by: str
    expected: tuple[str, ...]


class DiscardMerge(Asks[None], frozen=True, kw_only=True):
    """Drop a merge but for its tombstone: everything that follows it is published."""

    scope: str
    node: str
    expected: tuple[str, ...]


class Taken(msgspec.Struct, frozen=True):
    """Answer: the signal that a waiting unit has taken and its content; "": it stopped waiting."""

    signal: str
    content: bytes


class Await(Asks[Taken | None], frozen=True, kw_only=True):
    """Wait for a signal at an address. The signal, if one was saved there; None: it waits."""

    scope: str
    lineage: Lineage
    address: str
    by: str


class Deliver(Asks[str | None], frozen=True, kw_only=True):
    """Deliver a signal to its address. The waiting unit that takes it; None: it is saved."""

    address: str
    by: str
    content: bytes


class Resolve(Asks[Taken | None], frozen=True, kw_only=True):
    """Ask for the signal of a unit, and stop its wait. None: the run has ended."""

    scope: str
    address: str
    unit: str
    by: str


class Close(Asks[CompletionMessage | None], frozen=True, kw_only=True):
    """End the run. Its completion, if this message ended it; without a message: only ask."""

    by: str
    unit: str = ""
    message: CompletionMessage | None = None


class Forget(Asks[None], frozen=True, kw_only=True):
    """Drop the state of a run but for its tombstone: its completion is published."""


class Begin(Asks[None], frozen=True, kw_only=True):
    """Create the state of a run, so that its tokens find one. Without effect on one that ended."""


class Restore(Asks[None], frozen=True, kw_only=True):
    """Record an outcome from the history: whichever worker executes the token again follows it."""

    scope: str
    token_id: str
    outcome: bytes


class Supersede(Asks[CompletionMessage | None], frozen=True, kw_only=True):
    """Close this state for writing and drop it: it will be replaced.

    The completion, and nothing is dropped, if the run has ended: it may not be published yet.
    """


class Pause(Asks[bool], frozen=True, kw_only=True):
    """Pause the run: none of its tokens is executed; or (`on` false) resume it.

    False: the run has ended, or its state is lost.
    """

    on: bool


class Adjust(Asks[bool], frozen=True, kw_only=True):
    """Change how many items of a split may be in flight, and how many may fail, from now on.

    Items in flight stay, and the next item that is done counts by the new numbers. False: the
    barrier is closed or does not exist.
    """

    split: str
    window: int
    budget: int | None


class Items(Asks[list[Raw]], frozen=True, kw_only=True):
    """Ask the payload store for elements of a stored array."""

    ref: Ref
    start: int
    count: int


class Load(Asks[Raw], frozen=True, kw_only=True):
    """Ask the payload store for a stored value."""

    ref: Ref


Effect = (
    Report
    | Publish
    | WriteLog
    | StorePayload
    | SetTimer
    | CancelTimer
    | Hasten
    | Complete
    | Asks[Any]
)
Judgement = Generator[Effect, Any, T]


def ask(effect: Asks[R]) -> Judgement[R]:
    """Yield a question and return its answer, typed."""
    answer: R = yield effect
    return answer
