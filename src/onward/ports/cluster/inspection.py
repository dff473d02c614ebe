"""Inspecting a run: what its coordinator and its timers hold, and what is in quarantine.

An inspection changes nothing and waits for nothing. It is no transaction either: a run that moves
meanwhile may show parts of two moments.
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
    """Tokens that a worker executes or has executed."""
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
    """One instance of a split that waits for its items."""

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
    """When it is due; of a leased one, when the lease expires."""
    leased: bool
    """A scheduler has taken it to send its token."""
    token: Token


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a node that runs for long: acknowledged, and stored in a timer."""

    until_ms: int
    over: bool
    """It has expired: a scheduler is sending the message again."""
    token: Token


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run as an inspector found it."""

    over: bool = False
    """The coordinator knows that the run has ended."""
    scopes: tuple[ScopeState, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    alarms: tuple[TimerState, ...] = ()
    leases: Mapping[str, Lease] = {}
    """By token. They are no timers of the workflow."""
    notes: Mapping[str, HeldToken | DeliveryFailure] = {}
    """By token: its holder, or why and when it is retried."""
    workers: Mapping[str, int] = {}
    """When each worker was last seen, epoch ms."""
    queued: tuple[Token, ...] | None = None
    """Every token that is queued or held; None where a broker has them and does not list them."""
    unreadable: int = 0
    """Queued messages that are no tokens."""
    paused: bool = False
    """No node of the run may start."""
    parked: tuple[Token, ...] = ()
    """Tokens that wait for a paused run to be resumed."""
    unread: int = 0
    """Scopes and barriers beyond the number that is read."""


class Inspector(Protocol):
    """Inspects runs."""

    async def look(self, state_id: str) -> Snapshot:
        """Return what is known about a run; an empty snapshot for one that is not known."""
        ...


class QuarantineQueue(Protocol):
    """A queue without a consumer: messages stay until somebody decides about them."""

    async def take(self) -> list[Delivery]:
        """Take every message, oldest first. What is not settled returns on closing."""
        ...
