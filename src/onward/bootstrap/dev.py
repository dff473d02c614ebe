"""Wiring the API in one process: the embedded engine, and everything it has written."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from onward import __version__
from onward.adapters.access.gatherings import TableGatherings
from onward.adapters.access.listeners import TableListeners
from onward.adapters.access.signals import TableLinks, TableSignals
from onward.adapters.embedded.archive import SqliteArchive
from onward.adapters.embedded.controls import SqliteControls
from onward.adapters.embedded.flow import SqliteFlow
from onward.adapters.embedded.forgetting import SqliteForgetting
from onward.adapters.embedded.registry import SqliteRegistry
from onward.adapters.embedded.tables import SqliteTables
from onward.adapters.embedded.threaded import Threaded
from onward.adapters.embedded.triggers import SqliteTriggers
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.bootstrap.access import access_on
from onward.bootstrap.documents import examine_document
from onward.bootstrap.embedded import Settings, compile_source, open_engine
from onward.bootstrap.explaining import explain_in_file
from onward.bootstrap.languages import schedule_in
from onward.bootstrap.lifecycle import tell_lifecycle
from onward.bootstrap.sealing import seal_secrets
from onward.bootstrap.steering import EmbeddedSteering, begin_embedded
from onward.errors import InputError
from onward.kernel.context import Payload
from onward.kernel.json import decode
from onward.kernel.messages import Token
from onward.kernel.moment import to_iso
from onward.kernel.program import Program
from onward.nodes.catalogue import builtin
from onward.ports.archive import Archive
from onward.ports.clock import Chance, Clock
from onward.ports.gatherings import Gatherings
from onward.ports.holding import Presence
from onward.ports.hub import EventHub
from onward.ports.journal import Definition, Execution, Quarantined
from onward.ports.node import Catalogue
from onward.ports.sealer import Sealer
from onward.ports.signals import Links, SignalLog
from onward.ports.signer import Signer
from onward.ports.triggers import Settings as TriggerSettings
from onward.ports.triggers import Triggers
from onward.ports.workflows import Registry
from onward.runtime.backend import Alarm, Aside, Backend, Examined, QueueState
from onward.runtime.cancelling import cancel
from onward.runtime.document_schedules import DocumentSchedules
from onward.runtime.engine import Engine
from onward.runtime.explaining import Explanation
from onward.runtime.feed import Feed
from onward.runtime.flowing import FlowControl
from onward.runtime.gathered import News
from onward.runtime.hub import Hub
from onward.runtime.refusals import ConflictError
from onward.runtime.retention import Retention
from onward.runtime.steering import PLAIN, How, Steering
from onward.runtime.trigger_clock import TriggerClock
from onward.runtime.warden import Warden


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
        self.triggers: Triggers = SqliteTriggers(file)
        self._http = HostHttp()
        self._tables = tables = SqliteTables(file)
        self.access = access_on(tables, self._http, settings.key_file, makes_key=True)
        self.gatherings: Gatherings = TableGatherings(tables)
        self.signals: SignalLog = TableSignals(tables)
        self.links: Links = TableLinks(tables)
        self.signer: Signer = settings.signer()
        self.sealer: Sealer = settings.sealer()
        self.catalogue = catalogue
        self.feed = Feed(self.archive)
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()
        self.hub: EventHub = Hub(TableListeners(tables), self.signals, self._hand_on, self.clock)
        self._began_ms = self.clock.now_ms()
        flow = SqliteFlow(file)
        self._steering = EmbeddedSteering(settings.database, SqliteControls(file), flow, self.clock)
        self.steering: Steering = self._steering
        self.flow = FlowControl(flow, self.archive, self.clock, HostLog(), self._begin)

    def serve_with(self, engine: Engine) -> None:
        """Start runs on an engine from now on."""
        self._engine = engine
        self._steering.serve_with(engine)

    async def aclose(self) -> None:
        """Close the connections that trying credentials made."""
        await self._http.aclose()

    async def tell_lifecycle(self) -> None:
        """Tell what happens to runs, if somebody is to be told, until cancelled."""
        target = self._settings.lifecycle_events
        if target:
            await tell_lifecycle(target, self.archive, self._tables, self._http, late_ms=0)

    def observe(self, news: News) -> None:
        """A run has news that is committed."""
        self.feed.tell(news.execution_id)

    async def examine(self, source: Any) -> Examined:
        """Look at a document."""
        return await asyncio.to_thread(examine_document, source, self.catalogue)

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    def schedule_in(self, definition: Definition) -> TriggerSettings | None:
        """Return what starts runs of a definition by itself."""
        return schedule_in(definition)

    async def start(
        self, definition: Definition, given: Any, execution_id: str, how: How = PLAIN
    ) -> None:
        """Start a run, or park it."""
        await self.flow.start(definition, given, execution_id, how)

    async def _begin(self, definition: Definition, given: Any, execution_id: str, how: How) -> None:
        if self._engine is None:
            raise InputError("the engine is not running")
        earlier = self._starting.get(execution_id)
        if earlier is not None:  # it is not committed yet: then it will be found
            await earlier.wait()
        self._starting[execution_id] = done = asyncio.Event()
        try:
            await self._start(self._engine, definition, given, execution_id, how)
        finally:
            done.set()
            self._starting.pop(execution_id, None)

    async def _start(
        self, engine: Engine, definition: Definition, given: Any, execution_id: str, how: How
    ) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await begin_embedded(
                engine, self.steering.controls, program, definition.source, given, execution_id, how
            )
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise ConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled, and tell its running nodes."""
        return await self.steering.cancel(run, reason)

    async def send(self, run: Execution, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run."""
        return await self._hand_on(token, payloads)

    async def _hand_on(self, token: Token, payloads: Sequence[Payload]) -> bool:
        return self._engine is not None and await self._engine.send(token, payloads)

    async def explain(self, execution_id: str) -> Explanation | None:
        """Return what a run waits for."""
        run = await self.archive.run(execution_id)
        if run is not None and run.status == "parked":
            return await self.flow.explain(run)
        return await explain_in_file(execution_id, self._settings.database, self.catalogue)

    async def quarantine(self) -> list[Aside]:
        """Return the messages that were put aside."""
        return [_aside(number, one) for number, one in enumerate(await self._kept.aside(), 1)]

    async def release(self, numbers: Collection[int] | None, *, force: bool) -> list[Aside]:
        """Refuse: here a run has ended for good when a message of it is put aside."""
        raise ConflictError(
            "the runs of these messages have ended, so they would be dropped:"
            " start the runs again, and discard the messages",
            "RUN_ENDED",
        )

    async def discard(self, numbers: Collection[int] | None) -> list[Aside]:
        """Throw messages away."""
        return [_aside(number, one) for number, one in await self._kept.drop_aside(numbers)]

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


def _aside(number: int, one: Quarantined) -> Aside:
    return Aside(
        number=number,
        at=to_iso(one.at_ms),
        execution_id=one.execution_id,
        node_id=_node_of(one.body),
        reason=one.reason,
        body=one.body,
    )


def _node_of(body: bytes) -> str:
    try:
        return str(decode(body).get("current_node", ""))
    except Exception:  # whatever it is, it is in quarantine for a reason
        return ""


@asynccontextmanager
async def _forgetting(database: Path, keep_ms: int | None) -> AsyncIterator[None]:
    """Drop runs that are too old until the context is left."""
    if keep_ms is None:
        yield
        return
    file = Threaded(database)
    retention = Retention(SqliteForgetting(file), HostClock(), HostLog(), keep_ms)
    dropping = asyncio.create_task(retention.run())
    try:
        yield
    finally:
        await cancel(dropping)
        file.close()


@asynccontextmanager
async def open_embedded_backend(
    settings: Settings, *, catalogue: Catalogue = builtin, keep_ms: int | None = None
) -> AsyncIterator[EmbeddedBackend]:
    """Open an engine with an event log and everything the API needs; unfinished runs go on.

    Runs that ended longer ago than `keep_ms` are dropped, unless it is None.
    """
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
            await seal_secrets(backend.triggers, backend.sealer, HostLog())
            firing = asyncio.create_task(TriggerClock(backend, HostLog()).run())
            warden = Warden(
                backend.steering, backend.flow, backend.archive, backend.clock, HostLog()
            )
            guarding = asyncio.create_task(warden.run())
            following = asyncio.create_task(DocumentSchedules(backend).run(HostLog()))
            telling = asyncio.create_task(backend.tell_lifecycle())
            try:
                async with _forgetting(settings.database, keep_ms):
                    yield backend
            finally:
                await cancel(firing, guarding, following, telling)
        finally:
            if backend is not None:
                await backend.aclose()
            file.close()


_conforms: type[Backend] = EmbeddedBackend
