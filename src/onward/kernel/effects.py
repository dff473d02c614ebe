"""What the kernel asks for: a closed sum of effects, and the answers to those that are questions.

A judgement is a generator. It yields effects one at a time, in the order that makes a crash between
any two of them harmless, and receives the answer to each that `Asks`. It does nothing itself, so
the same judgement runs inside one SQLite transaction, against Redis, or in the simulator, where the
world may end between any two yields.

`by` is always the id of the message being handled. Whoever closes a scope or opens a barrier is
remembered by it, because exactly that message is delivered again if its handler dies before the
end; it then gets the same answers, and nobody else ever does.
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
    """Say what happened to a node. `merge_key` lets a busy reporter keep only the newest."""

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
    """Send a token on its way."""

    token: Token


class StorePayload(msgspec.Struct, frozen=True):
    """Keep a payload, by content."""

    payload: Payload


class SetTimer(msgspec.Struct, frozen=True):
    """Publish `token` at `due_ms`. The token's id names the timer: the first setting stands."""

    token: Token
    due_ms: int


class CancelTimer(msgspec.Struct, frozen=True):
    """Forget a timer that nobody waits for any more."""

    token_id: str


class Hasten(msgspec.Struct, frozen=True):
    """Publish the token of a timer now. Without effect on one that has fired or is forgotten."""

    token_id: str


class WriteLog(msgspec.Struct, frozen=True):
    """Write a line for people, from a node that exists to do so."""

    token: Token
    level: str
    message: Any


class Complete(msgspec.Struct, frozen=True):
    """Tell the world how the run ended."""

    message: CompletionMessage


# -- questions to the coordinator ----------------------------------------------------------------


class Superseded(msgspec.Struct, frozen=True):
    """Another outcome of the same token is already being followed."""


class Stands(msgspec.Struct, frozen=True):
    """The outcome that is on record, which may be an earlier attempt's."""

    outcome: bytes


class Record(Asks[Stands | Superseded], frozen=True, kw_only=True):
    """Fix a token's outcome before its effects, when they are more than one publish."""

    scope: str
    token_id: str
    tag: str
    siblings: int
    outcome: bytes


class Scatter(Asks[bool], frozen=True, kw_only=True):
    """Declare a split barrier. False: it, or a scope around it, is closed: send nothing."""

    scope: str
    lineage: Lineage
    split: str
    total: int
    window: int
    budget: int | None
    origin: bytes


class Open(msgspec.Struct, frozen=True):
    """The scope is open, or was closed by the handling of another message."""


class Closed(msgspec.Struct, frozen=True):
    """The scope is closed, by you. `left` holds what each unit left behind."""

    left: dict[str, bytes]


class Aborted(msgspec.Struct, frozen=True):
    """The scope was aborted, by you."""

    error: bytes


class Filed(msgspec.Struct, frozen=True):
    """You closed the scope and its slot is filled already."""


class Leave(Asks[Open | Closed | Aborted | Filed], frozen=True, kw_only=True):
    """`unit` leaves its scope. Without a unit: only ask whether the scope was closed by you."""

    scope: str
    lineage: Lineage
    unit: str | None
    by: str
    value: bytes = b""


class Abort(Asks[bool], frozen=True, kw_only=True):
    """Close an item's scope with an error, whatever still lives in it. True: it was you."""

    scope: str
    lineage: Lineage
    unit: str
    by: str
    error: bytes


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot was filled, by you. `verdict` says what that did to the barrier."""

    verdict: Literal["", "opened", "failed"]
    start: int
    count: int
    """Items that may be sent now, because this one is done."""
    filled: int
    failed: int
    total: int
    origin: bytes


class Fill(Asks[Slot | None], frozen=True, kw_only=True):
    """Fill the slot of a closed item scope. None: somebody else did, or the barrier is closed."""

    split: str
    index: int
    by: str
    value: bytes
    failed: bool


class Values(Asks[list[bytes] | None], frozen=True, kw_only=True):
    """Ask for the slots of an opened barrier, in item order. None: what follows is done already."""

    split: str


class Overdue(Asks[bytes | None], frozen=True, kw_only=True):
    """Close a split barrier that took too long. Its origin, if that was you."""

    split: str
    by: str


class DiscardSplit(Asks[None], frozen=True, kw_only=True):
    """What follows the barrier is safely on its way: keep only its tombstone."""

    split: str


class Pending(msgspec.Struct, frozen=True):
    """The merge waits for more."""

    arrived: int


class Late(msgspec.Struct, frozen=True):
    """The merge has gone on without you, or another token came by the same edge."""


class Opened(msgspec.Struct, frozen=True):
    """The merge opened, by you. What arrived, by edge."""

    arrivals: dict[str, bytes]


class Arrive(Asks[Pending | Late | Opened], frozen=True, kw_only=True):
    """A token reaches a merge by one of its edges. `quota`: how many are enough; None is all."""

    scope: str
    node: str
    edge: str
    unit: str
    by: str
    payload: bytes
    expected: tuple[str, ...]
    quota: int | None


class Skip(Asks[frozenset[str]], frozen=True, kw_only=True):
    """Mark edges dead in a scope. All edges dead there, so that concurrent decisions converge."""

    scope: str
    edges: frozenset[str]


class TryOpen(Asks[Opened | None], frozen=True, kw_only=True):
    """Open a merge if what has arrived and what is dead is all there will be."""

    scope: str
    node: str
    by: str
    expected: tuple[str, ...]
    quota: int | None


class ExpireMerge(Asks[Opened | None], frozen=True, kw_only=True):
    """Close a merge that waited too long. What had arrived, if that was you."""

    scope: str
    node: str
    by: str
    expected: tuple[str, ...]


class DiscardMerge(Asks[None], frozen=True, kw_only=True):
    """What follows the merge is safely on its way: keep only its tombstone."""

    scope: str
    node: str
    expected: tuple[str, ...]


class Taken(msgspec.Struct, frozen=True):
    """What a unit that waited has: a signal and its content, or "": it has given up."""

    signal: str
    content: bytes


class Await(Asks[Taken | None], frozen=True, kw_only=True):
    """Wait for a signal at an address. What was kept there and is taken now; None: it waits."""

    scope: str
    lineage: Lineage
    address: str
    by: str


class Deliver(Asks[str | None], frozen=True, kw_only=True):
    """Give a signal to whoever waits at its address. The unit that has it; None: it is kept."""

    address: str
    by: str
    content: bytes


class Resolve(Asks[Taken | None], frozen=True, kw_only=True):
    """Ask what a unit that waited has; it waits no longer. None: the run is over."""

    scope: str
    address: str
    unit: str
    by: str


class Close(Asks[CompletionMessage | None], frozen=True, kw_only=True):
    """End the run. The one completion, if it was you who ended it; without a message: only ask."""

    by: str
    unit: str = ""
    message: CompletionMessage | None = None


class Forget(Asks[None], frozen=True, kw_only=True):
    """The completion is published: drop everything about the run but that it ended."""


class Begin(Asks[None], frozen=True, kw_only=True):
    """The run may begin: from now on its tokens find a state. Without effect on one that ended."""


class Restore(Asks[None], frozen=True, kw_only=True):
    """History knows what a token came to: let whoever executes it again follow that."""

    scope: str
    token_id: str
    outcome: bytes


class Supersede(Asks[CompletionMessage | None], frozen=True, kw_only=True):
    """This state will be replaced: let nobody write to it, and drop it.

    The completion, and nothing dropped, if the run has ended and perhaps nobody was told.
    """


class Pause(Asks[bool], frozen=True, kw_only=True):
    """Let no token of the run begin any more, or (`on` false) let them again.

    False: the run is over, or its state is lost.
    """

    on: bool


class Adjust(Asks[bool], frozen=True, kw_only=True):
    """Change how many items of a split may be in flight, and how many may fail, from now on.

    What is in flight stays, and the next item that is done counts by the new numbers. False: the
    barrier is closed or was never there.
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
