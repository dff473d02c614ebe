"""Wiring the API in one process: the embedded engine, and everything it has written."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from onward import __version__
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.run_decisions import TableRunDecisions
from onward.adapters.sql.signals import TableChildLinks, TableSignals
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.inspection import SqliteInspector
from onward.adapters.sqlite.journal import prepare_file
from onward.adapters.sqlite.retention import SqliteRetention
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.adapters.sqlite.start_rules import SqliteStartRules
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.embedded import EmbeddedSettings, open_engine
from onward.bootstrap.explain_facts import explain_in_file
from onward.bootstrap.languages import compile_source, examine_document, schedule_in
from onward.bootstrap.security import access_on, seal_secrets
from onward.bootstrap.telemetry import tell_lifecycle
from onward.errors import InputError, StateConflictError
from onward.kernel.context import Payload
from onward.kernel.json import decode
from onward.kernel.messages import RunMessage, Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, QuarantineRecord, RunRecord
from onward.kernel.timestamps import to_iso
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.nodes.events import EventHub
from onward.ports.nodes.node import Catalogue
from onward.ports.security.crypto import Sealer, Signer
from onward.ports.storage.event_sets import EventSets
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.triggers import Settings as TriggerSettings
from onward.ports.storage.triggers import Triggers
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.backend import (
    Backend,
    CheckedDocument,
    PendingTimer,
    QuarantineEntry,
    QueueState,
)
from onward.runtime.control.retention import Retention
from onward.runtime.control.run_limits import RunLimits
from onward.runtime.control.start_rules import StartGate
from onward.runtime.embedded.engine import EmbeddedEngine
from onward.runtime.embedded.run_control import EmbeddedRunControl, begin_embedded
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.feed import Feed
from onward.runtime.run_control import RunControl
from onward.runtime.tasks import cancel
from onward.runtime.token.start import DEFAULT_START, StartOptions
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.triggers.event_hub import LocalEventHub
from onward.runtime.workflows.document_schedules import DocumentSchedules


class EmbeddedBackend:
    """A `Backend` on an engine in this process and its file."""

    kind: str = "embedded"

    def __init__(
        self, settings: EmbeddedSettings, file: SqliteConnection, catalogue: Catalogue
    ) -> None:
        self._settings = settings
        self._tables = tables = SqliteDatabase(file)
        self._kept = SqliteRunQueries(file)
        self._engine: EmbeddedEngine | None = None
        self._starting: dict[str, asyncio.Event] = {}
        self.archive: RunQueries = self._kept
        self.registry: WorkflowRegistry = TableWorkflows(tables)
        self.triggers: Triggers = TableTriggers(tables)
        self._http = HostHttp()
        self.access = access_on(tables, self._http, settings.key_file, makes_key=True)
        self.gatherings: EventSets = TableEventSets(tables)
        self.signals: SignalLog = TableSignals(tables)
        self.links: ChildLinks = TableChildLinks(tables)
        self.signer: Signer = settings.signer()
        self.sealer: Sealer = settings.sealer()
        self.catalogue = catalogue
        self.feed = Feed(self.archive)
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()
        self.hub: EventHub = LocalEventHub(
            TableListeners(tables), self.signals, self._hand_on, self.clock
        )
        self._began_ms = self.clock.now_ms()
        flow = SqliteStartRules(tables)
        self._steering = EmbeddedRunControl(
            open_inspector=lambda: closing(SqliteInspector(settings.database)),
            open_history=lambda: SqliteHistory(settings.database),
            controls=TableRunDecisions(tables),
            flow=flow,
            clock=self.clock,
        )
        self.steering: RunControl = self._steering
        self.flow = StartGate(flow, self.archive, self.clock, HostLog(), self._begin)

    def serve_with(self, engine: EmbeddedEngine) -> None:
        """Start runs on an engine from now on."""
        self._engine = engine
        self._steering.attach(engine)

    async def aclose(self) -> None:
        """Close the connections that trying credentials made."""
        await self._http.aclose()

    async def tell_lifecycle(self) -> None:
        """Tell what happens to runs, if somebody is to be told, until cancelled."""
        target = self._settings.lifecycle_events
        if target:
            await tell_lifecycle(target, self.archive, self._tables, self._http, late_ms=0)

    def observe(self, news: RunMessage) -> None:
        """A run has news that is committed."""
        self.feed.tell(news.execution_id)

    async def examine(self, source: Any) -> CheckedDocument:
        """Look at a document."""
        return await asyncio.to_thread(examine_document, source, self.catalogue)

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    def schedule_in(self, definition: Definition) -> TriggerSettings | None:
        """Return what starts runs of a definition by itself."""
        return schedule_in(definition)

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run, or park it."""
        await self.flow.start(definition, given, execution_id, how)

    async def _begin(
        self, definition: Definition, given: Any, execution_id: str, how: StartOptions
    ) -> None:
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
        self,
        engine: EmbeddedEngine,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions,
    ) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await begin_embedded(
                engine, self.steering.controls, program, definition.source, given, execution_id, how
            )
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise StateConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled, and tell its running nodes."""
        return await self.steering.cancel(run, reason)

    async def send(self, run: RunRecord, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run."""
        return await self._hand_on(token, payloads)

    async def _hand_on(self, token: Token, payloads: Sequence[Payload]) -> bool:
        return self._engine is not None and await self._engine.send(token, payloads)

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run waits for."""
        run = await self.archive.run(execution_id)
        if run is not None and run.status == "parked":
            return await self.flow.explain(run)
        return await explain_in_file(execution_id, self._settings.database, self.catalogue)

    async def quarantine(self) -> list[QuarantineEntry]:
        """Return the messages that were put aside."""
        return [_aside(number, one) for number, one in enumerate(await self._kept.quarantine(), 1)]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        """Refuse: here a run has ended for good when a message of it is put aside."""
        raise StateConflictError(
            "the runs of these messages have ended, so they would be dropped:"
            " start the runs again, and discard the messages",
            "RUN_ENDED",
        )

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        """Throw messages away."""
        return [_aside(number, one) for number, one in await self._kept.drop_quarantine(numbers)]

    async def timers(self, limit: int) -> list[PendingTimer]:
        """Return the timers that are due first."""
        found = await self._kept.due_timers(limit)
        return [
            PendingTimer(execution_id=run, timer_id=name, due_ms=due) for run, name, due in found
        ]

    async def queues(self) -> list[QueueState]:
        """Return the one queue there is: tokens in the file."""
        return [QueueState(name="journal", messages=await self._kept.queued())]

    async def workers(self) -> list[WorkerInfo]:
        """Return this process."""
        host, pid = socket.gethostname(), os.getpid()
        return [
            WorkerInfo(
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


def _aside(number: int, one: QuarantineRecord) -> QuarantineEntry:
    return QuarantineEntry(
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
    file = SqliteConnection(database)
    retention = Retention(SqliteRetention(file), HostClock(), HostLog(), keep_ms)
    dropping = asyncio.create_task(retention.run())
    try:
        yield
    finally:
        await cancel(dropping)
        file.close()


@asynccontextmanager
async def open_embedded_backend(
    settings: EmbeddedSettings, *, catalogue: Catalogue = builtin, keep_ms: int | None = None
) -> AsyncIterator[EmbeddedBackend]:
    """Open an engine with an event log and everything the API needs; unfinished runs go on.

    Runs that ended longer ago than `keep_ms` are dropped, unless it is None.
    """
    backend: EmbeddedBackend | None = None

    def observe(news: RunMessage) -> None:
        if backend is not None:
            backend.observe(news)

    async with open_engine(settings, observe=[observe], catalogue=catalogue, events=True) as engine:
        file = SqliteConnection(settings.database)
        try:
            backend = EmbeddedBackend(settings, file, catalogue)
            backend.serve_with(engine)
            for run in engine.unfinished():
                engine.resume(run.execution_id)
            await seal_secrets(backend.triggers, backend.sealer, HostLog())
            firing = asyncio.create_task(TriggerClock(backend, HostLog()).run())
            warden = RunLimits(
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


# -- Wiring the API on a file for one command: to look at it, or to do one thing with its runs.
#
# Nothing goes on by itself here: no run is taken up but the one that is named, no trigger fires.


LOOK_S = 0.2
"""How often to look for news that another process has written."""


@asynccontextmanager
async def open_onlooker(
    settings: EmbeddedSettings, *, create: bool
) -> AsyncIterator[EmbeddedBackend]:
    """Open what the API needs on a file, without an engine: another process may be serving it.

    InputError when there is no file, unless it may be created.
    """
    await asyncio.to_thread(prepare_file, settings.database, create=create)
    with closing(SqliteConnection(settings.database)) as file:
        backend = EmbeddedBackend(settings, file, builtin)
        listening = asyncio.create_task(_listen(backend))
        try:
            yield backend
        finally:
            await cancel(listening)
            await backend.aclose()


@asynccontextmanager
async def open_for_one(
    settings: EmbeddedSettings, run: str | None
) -> AsyncIterator[EmbeddedBackend]:
    """Open an engine that serves one run, or only what is started on it."""
    backend: EmbeddedBackend | None = None

    def observe(news: RunMessage) -> None:
        if backend is not None:
            backend.observe(news)

    async with open_engine(settings, observe=[observe], events=True) as engine:
        with closing(SqliteConnection(settings.database)) as file:
            backend = EmbeddedBackend(settings, file, builtin)
            backend.serve_with(engine)
            try:
                for one in engine.unfinished():
                    if one.execution_id == run:
                        engine.resume(run)
                yield backend
            finally:
                await backend.aclose()


async def _listen(backend: EmbeddedBackend) -> None:
    """Tell of news that another process has written."""
    last = -1
    while True:
        now = await backend.archive.last_place()
        if now != last:
            last = now
            backend.feed.tell_all()
        await asyncio.sleep(LOOK_S)
