"""The outcomes of a node: a closed sum that every judgement matches on."""

from __future__ import annotations

from typing import Any

import msgspec


class NodeError(msgspec.Struct, frozen=True):
    """Why a node failed (RFC 001, 6.2): shown to people, matched by `retry.on`, kept in context."""

    message: str
    code: str
    details: dict[str, Any] = {}


class Succeeded(msgspec.Struct, frozen=True, tag="succeeded"):
    """The node did its work; `output` is any JSON value."""

    output: Any = None


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The node did not do its work; its retry and error policies decide what follows."""

    error: NodeError


class Routed(msgspec.Struct, frozen=True, tag="routed"):
    """The node chose its edges: only the `edges` named are taken, the others are dead."""

    output: Any
    edges: tuple[str, ...]


class Scattered(msgspec.Struct, frozen=True, tag="scattered"):
    """A split found its items; each becomes a scope of its own."""

    items: tuple[Any, ...]
    window: int
    """How many items may be in flight."""
    budget: int | None
    """How many items may fail before the split does; None is any number."""


class Arrived(msgspec.Struct, frozen=True, tag="arrived"):
    """A token reached a barrier (merge or aggregator) with `value`; the barrier decides."""

    value: Any = None


class Suspended(msgspec.Struct, frozen=True, tag="suspended"):
    """The node is suspended until `until_ms` (epoch milliseconds) and costs nothing meanwhile."""

    until_ms: int


class Awaits(msgspec.Struct, frozen=True, tag="awaits", kw_only=True):
    """The node waits for a signal, or until `until_ms`; None: without a deadline.

    `key` distinguishes signals of one name. `memo` is what the node needs when it continues.
    """

    name: str
    key: str = ""
    until_ms: int | None = None
    memo: Any = None


Outcome = Succeeded | Failed | Routed | Scattered | Arrived | Suspended | Awaits
