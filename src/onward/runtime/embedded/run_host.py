"""The host of runs in one process: the embedded engine and its file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from onward.errors import InputError, StateConflictError
from onward.kernel.context import Payload
from onward.kernel.messages import CompletionMessage, RunMessage, Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.ports.clock import Clock
from onward.ports.nodes.outside import Log
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.embedded.engine import EmbeddedEngine
from onward.runtime.embedded.run_control import EmbeddedRunControl
from onward.runtime.signals.child_runs import ChildRuns
from onward.runtime.signals.run_host import RunHost
from onward.runtime.tasks import cancel
from onward.runtime.token.start import DEFAULT_START, StartOptions, decision_of


class EmbeddedRunHost:
    """A `RunHost` on an engine in this process. Without an engine it can only be read.

    It also follows the ends of runs for the sake of those that started them: that is done beside
    the engine, and what is missed when the process dies is caught up with at the next start.
    """

    def __init__(
        self,
        *,
        archive: RunQueries,
        registry: WorkflowRegistry,
        signals: SignalLog,
        links: ChildLinks,
        run_control: EmbeddedRunControl,
        compile_definition: Callable[[Definition], Program],
        clock: Clock,
        log: Log,
    ) -> None:
        self.archive = archive
        self.registry = registry
        self.signals = signals
        self.links = links
        self.clock = clock
        self.run_control = run_control
        self.child_runs = ChildRuns(self)
        self._compile = compile_definition
        self._log = log
        self._engine: EmbeddedEngine | None = None
        self._starting: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def attach(self, engine: EmbeddedEngine) -> None:
        """Start runs on an engine from now on, and catch up with the ends of child runs."""
        self._engine = engine
        self.run_control.attach(engine)
        self._spawn(self.child_runs.catch_up())

    def observe(self, message: RunMessage) -> None:
        """Follow a message that the engine has committed."""
        if isinstance(message, CompletionMessage):
            self._spawn(self.child_runs.ended([message.execution_id]))

    async def aclose(self) -> None:
        """Stop following; what is not signalled by then is when an engine serves again."""
        await cancel(*self._tasks)

    def compile(self, definition: Definition) -> Program:
        return self._compile(definition)

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run at once; the decisions about it are stored first."""
        if self._engine is None:
            raise InputError("the engine is not running")
        earlier = self._starting.get(execution_id)
        if earlier is not None:  # it is not committed yet: then it will be found
            await earlier.wait()
        self._starting[execution_id] = done = asyncio.Event()
        try:
            program = await asyncio.to_thread(self.compile, definition)
            if how is not DEFAULT_START:
                await self.run_control.controls.note(decision_of(execution_id, how))
            await self._engine.start(program, definition.source, given, execution_id, how)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise StateConflictError(str(problem), "RUN_EXISTS") from None
        finally:
            done.set()
            self._starting.pop(execution_id, None)

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        return await self.run_control.cancel(run, reason)

    async def send(self, token: Token, payloads: Sequence[Payload]) -> bool:
        return self._engine is not None and await self._engine.send(token, payloads)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.write("warning", f"the end of a child run was not signalled: {problem}")


_conforms: type[RunHost] = EmbeddedRunHost
