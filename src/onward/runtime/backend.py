"""What the API stands on: the same in one process on one file and on a cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec

from onward.errors import Problem
from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.ports.archive import Archive
from onward.ports.clock import Chance, Clock
from onward.ports.gatherings import Gatherings
from onward.ports.holding import Presence
from onward.ports.hub import EventHub
from onward.ports.journal import Definition, Execution
from onward.ports.node import Catalogue
from onward.ports.sealer import Sealer
from onward.ports.signals import Links, SignalLog
from onward.ports.signer import Signer
from onward.ports.triggers import Settings, Triggers
from onward.ports.workflows import Registry
from onward.runtime.access import AccessPorts
from onward.runtime.explaining import Explanation
from onward.runtime.feed import Feed
from onward.runtime.steering import PLAIN, How, Steering


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was looked at: what is wrong with it, and the definition if it can run."""

    definition: Definition | None
    problems: tuple[Problem, ...]


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A message in quarantine."""

    number: int
    at: str
    execution_id: str
    node_id: str
    reason: str
    body: bytes


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that is set."""

    execution_id: str
    timer_id: str
    due_ms: int


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, and how much waits in it."""

    name: str
    messages: int | None
    """None: they cannot be counted, or the queue is not there."""


class Backend(Protocol):
    """A place where workflows are kept and run."""

    kind: str
    """`embedded` or `distributed`."""
    archive: Archive
    registry: Registry
    triggers: Triggers
    gatherings: Gatherings
    access: AccessPorts
    signals: SignalLog
    links: Links
    hub: EventHub
    """Takes events that come from outside: to the runs that listen, and nowhere else."""
    signer: Signer
    sealer: Sealer
    catalogue: Catalogue
    feed: Feed
    clock: Clock
    chance: Chance
    steering: Steering

    async def examine(self, source: Any) -> Examined:
        """Look at a document: JSON or YAML text, or a decoded value."""
        ...

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition; DefinitionError when it can no longer run."""
        ...

    def schedule_in(self, definition: Definition) -> Settings | None:
        """Return what starts runs of a definition by itself, as its document says."""
        ...

    async def start(
        self, definition: Definition, given: Any, execution_id: str, how: How = PLAIN
    ) -> None:
        """Start a run under an id; it will then end. ConflictError: there is one of that id."""
        ...

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled; False when it has ended already."""
        ...

    async def send(self, run: Execution, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run, with what it refers to; False when it is known to have ended."""
        ...

    async def explain(self, execution_id: str) -> Explanation | None:
        """Return what a run waits for; None for a run that nobody knows."""
        ...

    async def quarantine(self) -> list[Aside]:
        """Return the messages that were put aside, oldest first."""
        ...

    async def release(self, numbers: Collection[int] | None, *, force: bool) -> list[Aside]:
        """Send messages in quarantine (None: all) once more, and return them; InputError if not."""
        ...

    async def discard(self, numbers: Collection[int] | None) -> list[Aside]:
        """Throw messages in quarantine (None: all) away, and return them; InputError if not."""
        ...

    async def timers(self, limit: int) -> list[Alarm]:
        """Return the timers that are due first."""
        ...

    async def queues(self) -> list[QueueState]:
        """Return every queue."""
        ...

    async def workers(self) -> list[Presence]:
        """Return everyone who executes nodes."""
        ...

    async def check(self) -> None:
        """Return when what it stands on answers; StorageError or BusError when it does not."""
        ...
