"""Looking at a run that goes on: what its coordinator and its timers hold, and what was put aside.

Looking changes nothing and waits for nobody. It is no transaction either: a run that moves while
it is looked at may show parts of two moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from onward.kernel.messages import Token
from onward.ports.cluster.bus import Delivery
from onward.ports.cluster.workers import DeliveryFailure, HeldToken


class Arrival(NamedTuple):
    """One branch that has reached a merge."""

    node: str
    edge: str
    unit: str


class ScopeState(msgspec.Struct, frozen=True, kw_only=True):
    """The run itself, or one item of a split: `kernel/coordination.py` says what the cells mean."""

    name: str
    live: int = 1
    claimed: frozenset[str] = frozenset()
    """Tokens that somebody executes or has executed."""
    fates: Mapping[str, tuple[str, int]] = {}
    """Step -> the outcome that is followed, and how many children it has."""
    left: frozenset[str] = frozenset()
    recorded: frozenset[str] = frozenset()
    """Tokens whose outcome is fixed, whether or not all that follows from it is done."""
    closed: bool = False
    dead: frozenset[str] = frozenset()
    merged: frozenset[str] = frozenset()
    """Merges that have opened."""
    arrivals: tuple[Arrival, ...] = ()


class Barrier(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a split that waits for its items."""

    split: str
    origin: Token
    """The split's own token: its node and its lineage."""
    total: int
    window: int
    budget: int | None
    """How many items may fail; None: any number."""
    sent: int
    failed: int
    verdict: str
    slots: frozenset[int]
    """The items that are done."""


class TimerState(msgspec.Struct, frozen=True, kw_only=True):
    """A timer of the run."""

    due_ms: int
    """When it is due; of a leased one, when the lease runs out."""
    leased: bool
    """A scheduler has taken it to send its token."""
    token: Token


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a node that runs for long: acknowledged, and kept by a timer."""

    until_ms: int
    over: bool
    """It has run out: a scheduler is sending the message again."""
    token: Token


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a run at one look."""

    over: bool = False
    """The coordinator knows that the run has ended."""
    scopes: tuple[ScopeState, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    alarms: tuple[TimerState, ...] = ()
    leases: Mapping[str, Lease] = {}
    """By token. They are no timers of the workflow."""
    notes: Mapping[str, HeldToken | DeliveryFailure] = {}
    """By token: who holds it, or why and when it comes again."""
    workers: Mapping[str, int] = {}
    """When each worker was last heard of, epoch ms."""
    queued: tuple[Token, ...] | None = None
    """Every token that is queued or in hand; None where a broker has them and does not tell."""
    unreadable: int = 0
    """Queued messages that are no tokens."""
    paused: bool = False
    """Nothing of the run may begin."""
    parked: tuple[Token, ...] = ()
    """Tokens that wait for a paused run to go on."""
    unread: int = 0
    """Scopes and barriers beyond the number that is looked at."""


class Inspector(Protocol):
    """Looks at runs."""

    async def look(self, execution_id: str) -> Snapshot:
        """Return what is known about a run; an empty snapshot for one that is not known."""
        ...


class QuarantineQueue(Protocol):
    """A queue whose messages nobody consumes: they lie there until someone decides about them."""

    async def take(self) -> list[Delivery]:
        """Take every message, oldest first. What is not settled returns when the shelf is left."""
        ...
