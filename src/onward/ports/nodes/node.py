"""Node types, and what a running node may reach.

A node type is a frozen `msgspec.Struct` of its parameters. By the time one is built no template is
left in them. Types whose `effect` is "outside" have `run`; the others are executed by the language
itself and only declare their parameters here.

An `async def run` shares the engine's event loop, and must never block it. A plain `def run` may
block: it runs in a thread, or, when it burns CPU or must be stopped for certain, in a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from onward.kernel.outcome import Awaits, Failed, Succeeded
from onward.kernel.program import RunsIn
from onward.ports.nodes.commands import NO_COMMANDS, Commands
from onward.ports.nodes.events import NO_HUB, EventHub
from onward.ports.nodes.outside import NO_RUNS, Http, Log, Mail, Runs

Effect = Literal["control", "outside"]
S = TypeVar("S", bound=type[msgspec.Struct])
CommitCallback = Callable[[bool], None]
"""Called once, with whether the outcome of a node is committed; it must not block."""


def _call_at_once(callback: CommitCallback) -> None:
    callback(True)


@dataclass(frozen=True, slots=True)
class Tools:
    """All that a running node may touch. Nothing else reaches it, so nothing else needs a fake."""

    http: Http
    mail: Mail
    log: Log
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The resolved fields of the credential the node names; empty when it names none."""
    idempotency_key: str = ""
    """The same for every execution of one token: pass it to services that can use it."""
    attempt: int = 1
    traceparent: str = ""
    """The place of this execution in its trace (W3C): for services that trace too."""
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The resolved fields of every further credential, by name."""
    hub: EventHub = NO_HUB
    commands: Commands = NO_COMMANDS
    runs: Runs = NO_RUNS
    after_commit: Callable[[CommitCallback], None] = _call_at_once
    """Registers a callback for when the outcome of this execution is committed: for what may only
    be acknowledged then. It is called with False when that does not happen, or not soon."""


@dataclass(frozen=True, slots=True)
class BlockingTools:
    """All that a node in a thread or a process of its own is given: it brings its own clients."""

    log: Log
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    idempotency_key: str = ""
    attempt: int = 1


@runtime_checkable
class Runnable(Protocol):
    """A node that touches the world."""

    async def run(self, tools: Tools) -> Succeeded | Failed | Awaits:
        """Do the work. Return the outcome, never raise for it: an exception from here is a bug."""
        ...


@runtime_checkable
class DeferredNode(Protocol):
    """A node whose arguments are only computed where the secrets are known."""

    def resolve(self, secrets: Mapping[str, Mapping[str, str]]) -> Runnable | Failed:
        """Return the node, or why there is none. Pure: it may be called again."""
        ...


class Blocking(Protocol):
    """A node that touches the world, and blocks while it does."""

    def run(self, tools: BlockingTools) -> Succeeded | Failed | Awaits:
        """Do the work, in a thread or a process of its own."""
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
    runs_in: RunsIn = "loop"
    """Where `run` runs: in the engine's event loop, in a thread, or in a process of its own."""
    memory_mb: int | None = None
    """How much memory a node in a process of its own may take; None: as much as there is."""

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
        runs_in: RunsIn | None = None,
        memory_mb: int | None = None,
    ) -> Any:
        """Return a decorator that adds a parameter struct under `name`; a name is taken once.

        Unless `runs_in` says otherwise, an `async def run` runs in the event loop and a plain one
        in a thread. ValueError for a type that cannot run where it should.
        """

        def add(parameters: S) -> S:
            if name in self._types:
                raise ValueError(f"node type {name!r} is registered twice")
            where = _place(name, parameters, effect, runs_in)
            if memory_mb is not None and where != "process":
                raise ValueError(f"node type {name!r}: only a process has a limit of memory")
            self._types[name] = NodeType(
                name, parameters, effect, expressions, credential, where, memory_mb
            )
            return parameters

        return add

    def get(self, name: str) -> NodeType | None:
        """Return the type called `name`, or None."""
        return self._types.get(name)

    def __iter__(self) -> Iterator[NodeType]:
        return iter(self._types.values())


def _place(name: str, parameters: type, effect: Effect, wanted: RunsIn | None) -> RunsIn:
    """Return where nodes of a type run."""
    run = getattr(parameters, "run", None)
    if effect == "control" or run is None:
        return "loop"
    natural: RunsIn = "loop" if iscoroutinefunction(run) else "thread"
    where = wanted or natural
    if (where == "loop") != (natural == "loop"):
        remedy = "`async def run` for the event loop" if where == "loop" else "a plain `def run`"
        raise ValueError(f"node type {name!r}: to run in a {where} it needs {remedy}")
    if where == "process" and "<locals>" in parameters.__qualname__:
        raise ValueError(
            f"node type {name!r}: a process finds its class by name, so define"
            f" {parameters.__qualname__} at the top level of a module"
        )
    return where
