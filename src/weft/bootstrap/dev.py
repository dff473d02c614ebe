"""Wiring the API in one process: the embedded engine, and everything it has written."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from weft import __version__
from weft.adapters.embedded.archive import SqliteArchive
from weft.adapters.embedded.registry import SqliteRegistry
from weft.adapters.embedded.threaded import Threaded
from weft.adapters.host.clock import HostChance, HostClock
from weft.bootstrap.documents import examine_document
from weft.bootstrap.embedded import Settings, compile_source, open_engine
from weft.bootstrap.explaining import explain_in_file
from weft.errors import InputError
from weft.kernel.json import decode
from weft.kernel.moment import to_iso
from weft.kernel.program import Program
from weft.nodes.catalogue import builtin
from weft.ports.archive import Archive
from weft.ports.clock import Chance, Clock
from weft.ports.holding import Presence
from weft.ports.journal import Definition, Execution
from weft.ports.node import Catalogue
from weft.ports.workflows import Registry
from weft.runtime.backend import Alarm, Aside, Backend, Examined, QueueState
from weft.runtime.engine import Engine
from weft.runtime.explaining import Explanation
from weft.runtime.feed import Feed
from weft.runtime.refusals import ConflictError
from weft.runtime.turn import News


class EmbeddedBackend:
    """A `Backend` on an engine in this process and its file."""

    kind: str = "embedded"

    def __init__(self, settings: Settings, file: Threaded, catalogue: Catalogue) -> None:
        self._settings = settings
        self._kept = SqliteArchive(file)
        self._engine: Engine | None = None
        self._starting: dict[str, asyncio.Event] = {}
        self.archive: Archive = self._kept
        self.registry: Registry = SqliteRegistry(file)
        self.catalogue = catalogue
        self.feed = Feed(self.archive)
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()
        self._began_ms = self.clock.now_ms()

    def serve_with(self, engine: Engine) -> None:
        """Start runs on an engine from now on."""
        self._engine = engine

    def observe(self, news: News) -> None:
        """A run has news that is committed."""
        self.feed.tell(news.execution_id)

    async def examine(self, source: Any) -> Examined:
        """Look at a document."""
        return await asyncio.to_thread(examine_document, source, self.catalogue)

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        if self._engine is None:
            raise InputError("the engine is not running")
        earlier = self._starting.get(execution_id)
        if earlier is not None:  # it is not committed yet: then it will be found
            await earlier.wait()
        self._starting[execution_id] = done = asyncio.Event()
        try:
            await self._start(self._engine, definition, given, execution_id)
        finally:
            done.set()
            self._starting.pop(execution_id, None)

    async def _start(
        self, engine: Engine, definition: Definition, given: Any, execution_id: str
    ) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await engine.start(program, definition.source, given, execution_id)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise ConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled, and tell its running nodes."""
        return self._engine is not None and await self._engine.cancel(run.execution_id, reason)

    async def explain(self, execution_id: str) -> Explanation | None:
        """Return what a run waits for."""
        return await explain_in_file(execution_id, self._settings.database, self.catalogue)

    async def quarantine(self) -> list[Aside]:
        """Return the messages that were put aside."""
        return [
            Aside(
                number=number,
                at=to_iso(one.at_ms),
                execution_id=one.execution_id,
                node_id=_node_of(one.body),
                reason=one.reason,
                body=one.body,
            )
            for number, one in enumerate(await self._kept.aside(), 1)
        ]

    async def timers(self, limit: int) -> list[Alarm]:
        """Return the timers that are due first."""
        found = await self._kept.due_timers(limit)
        return [Alarm(execution_id=run, timer_id=name, due_ms=due) for run, name, due in found]

    async def queues(self) -> list[QueueState]:
        """Return the one queue there is: tokens in the file."""
        return [QueueState(name="journal", messages=await self._kept.queued())]

    async def workers(self) -> list[Presence]:
        """Return this process."""
        host, pid = socket.gethostname(), os.getpid()
        return [
            Presence(
                name=f"{host}:{pid}",
                host=host,
                pid=pid,
                version=__version__,
                slots=self._settings.slots,
                started_ms=self._began_ms,
                seen_ms=self.clock.now_ms(),
            )
        ]

    async def check(self) -> None:
        """Return when the file answers."""
        await self._kept.queued()


def _node_of(body: bytes) -> str:
    try:
        return str(decode(body).get("current_node", ""))
    except Exception:  # whatever it is, it is in quarantine for a reason
        return ""


@asynccontextmanager
async def open_embedded_backend(
    settings: Settings, *, catalogue: Catalogue = builtin
) -> AsyncIterator[EmbeddedBackend]:
    """Open an engine with an event log and everything the API needs; unfinished runs go on."""
    backend: EmbeddedBackend | None = None

    def observe(news: News) -> None:
        if backend is not None:
            backend.observe(news)

    async with open_engine(settings, observe=[observe], catalogue=catalogue, events=True) as engine:
        file = Threaded(settings.database)
        try:
            backend = EmbeddedBackend(settings, file, catalogue)
            backend.serve_with(engine)
            for run in engine.unfinished():
                engine.resume(run.execution_id)
            yield backend
        finally:
            file.close()


_conforms: type[Backend] = EmbeddedBackend
