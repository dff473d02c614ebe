"""What the API stands on: the same in one process on one file and on a cluster."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec

from onward.errors import DocumentProblem
from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
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
from onward.runtime.token.start import DEFAULT_START, StartOptions


class CheckedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was looked at: what is wrong with it, and the definition if it can run."""

    definition: Definition | None
    problems: tuple[DocumentProblem, ...]


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
    """A queue, and how much waits in it."""

    name: str
    messages: int | None
    """None: they cannot be counted, or the queue is not there."""


class Backend(Protocol):
    """A place where workflows are kept and run."""

    kind: str
    """`embedded` or `distributed`."""
    archive: RunQueries
    registry: WorkflowRegistry
    triggers: Triggers
    gatherings: EventSets
    access: AccessPorts
    signals: SignalLog
    links: ChildLinks
    hub: EventHub
    """Takes events that come from outside: to the runs that listen, and nowhere else."""
    signer: Signer
    sealer: Sealer
    catalogue: Catalogue
    feed: Feed
    clock: Clock
    chance: Chance
    steering: RunControl

    async def examine(self, source: Any) -> CheckedDocument:
        """Look at a document: JSON or YAML text, or a decoded value."""
        ...

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition; DefinitionError when it can no longer run."""
        ...

    def schedule_in(self, definition: Definition) -> Settings | None:
        """Return what starts runs of a definition by itself, as its document says."""
        ...

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run under an id; it will then end. ConflictError: there is one of that id."""
        ...

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled; False when it has ended already."""
        ...

    async def send(self, run: RunRecord, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run, with what it refers to; False when it is known to have ended."""
        ...

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run waits for; None for a run that nobody knows."""
        ...

    async def quarantine(self) -> list[QuarantineEntry]:
        """Return the messages that were put aside, oldest first."""
        ...

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        """Send messages in quarantine (None: all) once more, and return them; InputError if not."""
        ...

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        """Throw messages in quarantine (None: all) away, and return them; InputError if not."""
        ...

    async def timers(self, limit: int) -> list[PendingTimer]:
        """Return the timers that are due first."""
        ...

    async def queues(self) -> list[QueueState]:
        """Return every queue."""
        ...

    async def workers(self) -> list[WorkerInfo]:
        """Return everyone who executes nodes."""
        ...

    async def check(self) -> None:
        """Return when what it stands on answers; StorageError or BusError when it does not."""
        ...
