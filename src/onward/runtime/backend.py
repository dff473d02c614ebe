"""What the API stands on: the same in one process on one file and on a cluster.

A `Backend` joins what is the same in both modes with the two things that are not: a `RunHost`,
where runs live, and `Operations`, what operators ask about queues, timers, workers and quarantine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.languages.document.problems import CheckedDocument
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.nodes.events import EventHub
from onward.ports.nodes.node import Catalogue
from onward.ports.security.crypto import Sealer, Signer
from onward.ports.storage.event_sets import EventSets
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.triggers import Settings, Triggers
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.feed import Feed
from onward.runtime.run_control import RunControl
from onward.runtime.security.accounts import AccessPorts
from onward.runtime.signals.run_host import RunHost
from onward.runtime.start_gate import StartGate
from onward.runtime.token.start import DEFAULT_START, StartOptions


class QuarantineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A message in quarantine."""

    number: int
    at: str
    execution_id: str
    node_id: str
    reason: str
    body: bytes


class PendingTimer(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that is set."""

    execution_id: str
    timer_id: str
    due_ms: int


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, and how many messages wait in it."""

    name: str
    messages: int | None
    """None: they cannot be counted, or the queue is not there."""


class Operations(Protocol):
    """What operators ask of the place where runs live."""

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run that has begun waits for; None for an unknown run."""
        ...

    async def quarantine(self) -> list[QuarantineEntry]:
        """Return the messages in quarantine, oldest first."""
        ...

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        """Send messages in quarantine (None: all) once more, and return them; InputError if not."""
        ...

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        """Delete messages in quarantine (None: all), and return them; InputError if not."""
        ...

    async def timers(self, limit: int) -> list[PendingTimer]:
        """Return the timers that are due first."""
        ...

    async def queues(self) -> list[QueueState]:
        """Return every queue."""
        ...

    async def workers(self) -> list[WorkerInfo]:
        """Return every process that executes nodes."""
        ...

    async def check(self) -> None:
        """Return when the storage answers; StorageError or BusError when it does not."""
        ...


@dataclass(kw_only=True)
class Backend:
    """A place where workflows are stored and run; itself a `RunHost`, whose starts obey rules."""

    kind: str
    """`embedded` or `distributed`."""
    host: RunHost
    gate: StartGate
    operations: Operations
    steering: RunControl
    triggers: Triggers
    gatherings: EventSets
    access: AccessPorts
    hub: EventHub
    """Delivers events from outside to the runs that listen, and to nothing else."""
    signer: Signer
    sealer: Sealer
    catalogue: Catalogue
    feed: Feed
    chance: Chance
    check_document: Callable[[Any], CheckedDocument]
    """Reads and checks a document: JSON or YAML text, or a decoded value."""
    schedule_in: Callable[[Definition], Settings | None]
    """Returns the schedule that a document asks for itself."""

    archive: RunQueries = field(init=False)
    registry: WorkflowRegistry = field(init=False)
    signals: SignalLog = field(init=False)
    links: ChildLinks = field(init=False)
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.archive, self.registry = self.host.archive, self.host.registry
        self.signals, self.links = self.host.signals, self.host.links
        self.clock = self.host.clock

    async def examine(self, source: Any) -> CheckedDocument:
        """Check a document in a thread: a large one takes a while."""
        return await asyncio.to_thread(self.check_document, source)

    def compile(self, definition: Definition) -> Program:
        return self.host.compile(definition)

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run when the rule of its workflow allows it, and park it until then."""
        await self.gate.start(definition, given, execution_id, how)

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        return await self.host.cancel(run, reason)

    async def send(self, token: Token, payloads: Sequence[Payload]) -> bool:
        return await self.host.send(token, payloads)

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run waits for; None for an unknown run."""
        run = await self.archive.run(execution_id)
        if run is not None and run.status == "parked":
            return await self.gate.explain(run)
        return await self.operations.explain(execution_id)


_conforms: type[RunHost] = Backend
