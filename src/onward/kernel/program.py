"""What a definition language must provide: a compiled definition that can step and settle.

The worker's pipeline is the same for every language:

    decode -> claim -> step -> run the activity -> settle -> perform effects -> ack
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Raw

from onward.kernel.context import Payload
from onward.kernel.effects import Judgement
from onward.kernel.messages import Token
from onward.kernel.outcome import Outcome

RunsIn = Literal["loop", "thread", "process"]


class LinkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A signed link that a node wants to hand out. Whoever runs the node makes it.

    The definition's side of it is pure and is written down; the link itself never is.
    """

    mark: str
    """What stands in the node's parameters where the link is to be."""
    purpose: Literal["approval", "callback"]
    address: str
    person: str
    """Whose decision it is; of a callback, what its signal is called."""
    lasts_ms: int


class Activity(msgspec.Struct, frozen=True):
    """Work that touches the world: the worker runs it and settles what came of it."""

    node: Any
    """The node, ready to run: its parameters are resolved and typed."""
    credential: str | None
    timeout_s: float | None
    runs_in: RunsIn = "loop"
    memory_mb: int | None = None
    """How much memory a node in a process of its own may take."""
    secrets: tuple[str, ...] = ()
    """Further credentials, which the node asks for by name."""
    links: tuple[LinkRequest, ...] = ()
    """Links that must stand in the parameters before the node runs."""


class Program(Protocol):
    """A compiled definition. Pure: time and chance are arguments."""

    workflow_id: str
    ref: str
    """The content address of the definition."""

    def start(
        self, execution_id: str, given: Raw, *, now_ms: int
    ) -> tuple[list[Token], list[Payload]]:
        """Return the first tokens of a run with input `given`, and what to store before them."""
        ...

    def has_node(self, token: Token) -> bool:
        """Return whether the token's node is part of this definition."""
        ...

    def needs(self, token: Token) -> frozenset[str] | None:
        """Return the context entries `step` will read; None means all of them."""
        ...

    def input_of(self, token: Token) -> str:
        """Return the context entry that is the token's `$input`."""
        ...

    def type_of(self, token: Token) -> str:
        """Return the type of the token's node: one of few, for people and for statistics."""
        ...

    def runs_activity(self, token: Token) -> bool:
        """Return whether visiting the token's node runs an activity."""
        ...

    def step(self, token: Token, view: Mapping[str, Any]) -> Activity | Outcome:
        """Return what there is to do at the token's node: an activity, or what it came to."""
        ...

    def settle(
        self, token: Token, outcome: Outcome, *, now_ms: int, dice: float
    ) -> Judgement[None]:
        """Yield everything that follows from `outcome`, in the order to do it.

        The order is the crash-safety argument: the message is acknowledged only after the last
        effect, so dying part-way repeats this with the same arguments and meets its own effects,
        each idempotent by its own key.
        """
        ...

    def wake(self, token: Token, *, now_ms: int) -> Judgement[None]:
        """Yield what follows from a token that is a signal (a page or a time-out), not a visit."""
        ...

    def finish(self, token: Token, depth: int, *, now_ms: int) -> Judgement[None]:
        """Yield again what followed when this token closed the scope at `depth` of its lineage."""
        ...
