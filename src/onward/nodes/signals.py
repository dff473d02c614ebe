"""Parameters of the nodes that wait for somebody: a signal, or the decision of people.

They touch nothing themselves, so they have no `run`: the graph language carries out what they ask.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from onward.nodes.steering import EdgeId, Seconds

SignalName = Annotated[
    str,
    Meta(
        pattern=r"^[a-zA-Z0-9_-]{1,64}$",
        description="letters, digits, _ and -, 64 at most",
    ),
]
Key = Annotated[str, Meta(max_length=200)]
Person = Annotated[str, Meta(min_length=1, max_length=200)]


class WaitForSignal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pause the path until a signal comes; the output is what it brings.

    A signal that comes before is kept, and each is taken by one wait. `key` tells signals of one
    name apart; inside a split it is the item (`users[5]`) unless it is given. When none has come
    after `timeout` seconds, `expired_edge_id` is taken and the output is `{expired_at}`; without
    that edge the node fails.
    """

    signal: SignalName
    key: Key | int | None = None
    timeout: Seconds | None = None
    expired_edge_id: EdgeId | None = None

    def __post_init__(self) -> None:
        """Refuse an edge for a time that never comes."""
        _check_expiry(self.timeout, self.expired_edge_id)


class Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pause the path until people have decided; the output has who, when and why.

    Each of the `approvers` has a link of their own, which decides once. `required` of them (null:
    all) must approve; when so many have rejected that they cannot, it is rejected. With
    `approved_edge_id` and `rejected_edge_id` the decision is a branch; without the latter the node
    fails when it is rejected. When nothing is decided after `timeout` seconds, `expired_edge_id` is
    taken, or the node fails.
    """

    approvers: Annotated[tuple[Person, ...], Meta(min_length=1, max_length=100)]
    required: Annotated[int, Meta(ge=1)] | None = None
    message: Annotated[str, Meta(max_length=2_000)] = ""
    timeout: Seconds | None = None
    approved_edge_id: EdgeId | None = None
    rejected_edge_id: EdgeId | None = None
    expired_edge_id: EdgeId | None = None

    def __post_init__(self) -> None:
        """Refuse a decision that can never be made."""
        _check_expiry(self.timeout, self.expired_edge_id)
        people = len(set(self.approvers))
        if people != len(self.approvers):
            raise ValueError("`approvers`: somebody is named twice")
        if self.required is not None and self.required > people:
            raise ValueError(f"`required`: {self.required} of {people} approvers is impossible")


def _check_expiry(timeout: float | None, edge: str | None) -> None:
    if edge is not None and timeout is None:
        raise ValueError("`expired_edge_id` needs `timeout`: without one nothing expires")
