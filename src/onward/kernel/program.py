"""The interface of a definition language: a compiled definition that can step and settle.

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
    """A signed link that a node wants to give out. The process that runs the node signs it.

    The request is pure and may be stored; the link itself never is.
    """

    mark: str
    """The text in the node's parameters that the link replaces."""
    purpose: Literal["approval", "callback"]
    address: str
    person: str
    """Who may approve; of a callback, the name of its signal."""
    lasts_ms: int


class Activity(msgspec.Struct, frozen=True):
    """Work of a node that touches the world: the worker runs it and settles its outcome."""

    node: Any
    """The node, ready to run: its parameters are resolved and typed."""
    credential: str | None
    timeout_s: float | None
    runs_in: RunsIn = "loop"
    memory_mb: int | None = None
    """How much memory a node in a process of its own may take."""
    secrets: tuple[str, ...] = ()
    """Further credentials, which the node requests by name."""
    links: tuple[LinkRequest, ...] = ()
    """Links that must be signed and put into the parameters before the node runs."""


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
        """Return the activity of the token's node, or its outcome if it needs none."""
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
