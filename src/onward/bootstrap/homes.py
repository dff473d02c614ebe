"""Where runs that start runs live in one process: the embedded engine and its file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from onward.adapters.access.signals import TableLinks, TableSignals
from onward.adapters.embedded.archive import SqliteArchive
from onward.adapters.embedded.registry import SqliteRegistry
from onward.adapters.embedded.tables import SqliteTables
from onward.adapters.embedded.threaded import Threaded
from onward.adapters.host.clock import HostClock
from onward.errors import InputError
from onward.kernel.context import Payload
from onward.kernel.messages import CompletionMessage, Token
from onward.kernel.program import Program
from onward.ports.archive import Archive
from onward.ports.clock import Clock
from onward.ports.journal import Definition, Execution
from onward.ports.outside import Log
from onward.ports.signals import Links, SignalLog
from onward.ports.workflows import Registry
from onward.runtime.cancelling import cancel
from onward.runtime.engine import Engine
from onward.runtime.family import Family, Home
from onward.runtime.gathered import News
from onward.runtime.refusals import ConflictError


class EngineHome:
    """A `Home` on an engine in this process, which is told later."""

    def __init__(self, file: Threaded, compiled: Callable[[Definition], Program]) -> None:
        tables = SqliteTables(file)
        self.archive: Archive = SqliteArchive(file)
        self.registry: Registry = SqliteRegistry(file)
        self.links: Links = TableLinks(tables)
        self.signals: SignalLog = TableSignals(tables)
        self.clock: Clock = HostClock()
        self.compile = compiled
        self.engine: Engine | None = None

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        if self.engine is None:
            raise InputError("the engine is not running")
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await self.engine.start(program, definition.source, given, execution_id)
        except InputError as problem:
            raise ConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled."""
        return self.engine is not None and await self.engine.cancel(run.execution_id, reason)

    async def send(self, run: Execution, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run."""
        return self.engine is not None and await self.engine.send(token, payloads)


class Household:
    """Looks after the runs of an engine that start others, as long as it serves."""

    def __init__(self, home: EngineHome, log: Log) -> None:
        self._home = home
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self.family = Family(home)

    def serve_with(self, engine: Engine) -> None:
        """Begin; what was not told when an engine died is told now."""
        self._home.engine = engine
        self._do(self.family.catch_up())

    def observe(self, news: News) -> None:
        """A run has news that is committed."""
        if isinstance(news, CompletionMessage):
            self._do(self.family.ended([news.execution_id]))

    async def aclose(self) -> None:
        """Stop; what is not told by then is told when an engine serves again."""
        await cancel(*self._tasks)

    def _do(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.write("warning", f"a run was not told of another's end: {problem}")


_conforms: type[Home] = EngineHome
