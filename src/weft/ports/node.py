"""What a node type is, and what a running node may reach.

A node type is a frozen `msgspec.Struct` of its parameters. By the time one is built no template is
left in them. Types whose `effect` is "outside" have `run`; the others are steered by the language
itself and only declare their parameters here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from weft.kernel.outcome import Failed, Succeeded
from weft.ports.outside import Http, Log, Mail

Effect = Literal["control", "outside"]
S = TypeVar("S", bound=type[msgspec.Struct])


@dataclass(frozen=True, slots=True)
class Tools:
    """All that a running node may touch. Nothing else reaches it, so nothing else needs a fake."""

    http: Http
    mail: Mail
    log: Log
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The resolved fields of the credential the node names; empty when it names none."""
    idempotency_key: str = ""
    """The same for every execution of one token: hand it to services that can use it."""
    attempt: int = 1


@runtime_checkable
class Runnable(Protocol):
    """A node that touches the world."""

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Do the work. Say what happened; never raise for it: an exception from here is a bug."""
        ...


@dataclass(frozen=True, slots=True)
class NodeType:
    """One entry of the catalogue."""

    name: str
    parameters: type[msgspec.Struct]
    effect: Effect
    expressions: tuple[str, ...] = ()
    """Parameters that are jq itself, braces optional: `expression`, or `cases/*/when`."""
    credential: bool = False
    """Whether the node must name a credential."""

    @property
    def summary(self) -> str:
        """Return the first line of the type's docstring: its one-line help."""
        return (self.parameters.__doc__ or "").strip().splitlines()[0]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        return msgspec.json.schema(self.parameters)


class Catalogue:
    """Node types by name."""

    def __init__(self) -> None:
        self._types: dict[str, NodeType] = {}

    def register(
        self,
        name: str,
        *,
        effect: Effect = "outside",
        expressions: tuple[str, ...] = (),
        credential: bool = False,
    ) -> Any:
        """Return a decorator that adds a parameter struct under `name`; a name is taken once."""

        def add(parameters: S) -> S:
            if name in self._types:
                raise ValueError(f"node type {name!r} is registered twice")
            self._types[name] = NodeType(name, parameters, effect, expressions, credential)
            return parameters

        return add

    def get(self, name: str) -> NodeType | None:
        """Return the type called `name`, or None."""
        return self._types.get(name)

    def __iter__(self) -> Iterator[NodeType]:
        return iter(self._types.values())
