"""A host of runs: where runs are read, started, cancelled and sent tokens, in either mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.ports.clock import Clock
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.token.start import DEFAULT_START, StartOptions


class RunHost(Protocol):
    """A place where runs live: an engine in this process and its file, or a cluster."""

    archive: RunQueries
    registry: WorkflowRegistry
    signals: SignalLog
    links: ChildLinks
    clock: Clock

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition; DefinitionError when it can no longer run."""
        ...

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run under an id; it will then end. StateConflictError: the id is taken."""
        ...

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled and stop its nodes; False when it has ended already."""
        ...

    async def send(self, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to its run, with its payloads; False when the run is known to have ended."""
        ...
