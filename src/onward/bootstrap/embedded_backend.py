"""Wiring the API in one process: the embedded engine, and everything it has written.

Three ways to open it: `open_embedded_backend` is a server, `open_for_one` does one thing with runs,
and `open_onlooker` only reads a file that another process may be serving. In the latter two nothing
starts by itself: no run is resumed but the one that is named, and no trigger fires.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing

from onward import __version__
from onward.adapters.host.clock import HostChance
from onward.adapters.host.lazy_clients import LazyHttp
from onward.adapters.host.log import HostLog
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.inspection import SqliteInspector
from onward.adapters.sqlite.journal import prepare_file
from onward.adapters.sqlite.retention import SqliteRetention
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.bootstrap.accounts import access_on
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.embedded import host_on, serve_file
from onward.bootstrap.languages import Languages
from onward.bootstrap.security import open_sealer, open_signer
from onward.bootstrap.settings import EmbeddedSettings
from onward.bootstrap.telemetry import publish_lifecycle
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.nodes.node import Catalogue
from onward.runtime.backend import Backend
from onward.runtime.control.retention import Retention
from onward.runtime.control.run_limits import RunLimits
from onward.runtime.embedded.operations import EmbeddedOperations
from onward.runtime.embedded.run_host import EmbeddedRunHost
from onward.runtime.feed import Feed
from onward.runtime.start_gate import StartGate
from onward.runtime.tasks import cancel
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.triggers.event_hub import LocalEventHub
from onward.runtime.triggers.secrets import seal_secrets
from onward.runtime.workflows.document_schedules import DocumentSchedules

LOOK_S = 0.2
"""How often to look for events that another process has written."""


def _backend_on(
    settings: EmbeddedSettings,
    host: EmbeddedRunHost,
    file: SqliteConnection,
    http: LazyHttp,
    feed: Feed,
    languages: Languages,
) -> Backend:
    database, tables, run_control = settings.database, SqliteDatabase(file), host.run_control
    folder, pid = database.parent, os.getpid()
    now_ms = host.clock.now_ms()
    worker = WorkerInfo(
        name=f"{socket.gethostname()}:{pid}",
        host=socket.gethostname(),
        pid=pid,
        version=__version__,
        slots=settings.slots,
        started_ms=now_ms,
        seen_ms=now_ms,
    )
    return Backend(
        kind="embedded",
        host=host,
        gate=StartGate(run_control.flow, host, HostLog()),
        operations=EmbeddedOperations(
            host=host,
            tables=SqliteRunQueries(file),
            open_inspector=lambda: closing(SqliteInspector(database)),
            open_history=lambda: SqliteHistory(database),
            worker=worker,
        ),
        steering=run_control,
        triggers=TableTriggers(tables),
        gatherings=TableEventSets(tables),
        access=access_on(tables, http, settings.key_file, makes_key=True),
        hub=LocalEventHub(TableListeners(tables), host.signals, host.send, host.clock),
        signer=open_signer(settings.key_file or folder / "links.key", makes_key=True),
        sealer=open_sealer(settings.key_file or folder / "key", makes_key=True),
        catalogue=languages.catalogue,
        feed=feed,
        chance=HostChance(),
        check_document=languages.check_document,
        schedule_in=languages.schedule_in,
    )


@asynccontextmanager
async def open_embedded_backend(
    settings: EmbeddedSettings, *, catalogue: Catalogue = builtin, keep_ms: int | None = None
) -> AsyncIterator[Backend]:
    """Open an engine with an event log and everything the API needs; unfinished runs are resumed.

    Runs that ended longer ago than `keep_ms` are dropped, unless it is None.
    """
    languages, log = Languages(catalogue), HostLog()
    async with serve_file(settings, languages, events=True) as process:
        host, engine = process.host, process.engine
        backend = _backend_on(settings, host, process.file, process.http, process.feed, languages)
        for run in engine.unfinished():
            engine.resume(run.execution_id)
        await seal_secrets(backend.triggers, backend.sealer, log)
        work = [
            TriggerClock(backend, log).run(),
            RunLimits(backend, log).run(),
            DocumentSchedules(backend).run(log),
        ]
        if target := settings.lifecycle_events:
            tables = SqliteDatabase(process.file)
            work.append(publish_lifecycle(target, backend.archive, tables, process.http, late_ms=0))
        async with AsyncExitStack() as stack:
            if keep_ms is not None:
                file = stack.enter_context(closing(SqliteConnection(settings.database)))
                work.append(Retention(SqliteRetention(file), backend.clock, log, keep_ms).run())
            tasks = [asyncio.create_task(each) for each in work]
            stack.push_async_callback(cancel, *tasks)
            yield backend


@asynccontextmanager
async def open_for_one(
    settings: EmbeddedSettings, execution_id: str | None
) -> AsyncIterator[Backend]:
    """Open an engine that serves one run, or only what is started on it."""
    languages = Languages(builtin)
    async with serve_file(settings, languages, events=True) as process:
        host, engine = process.host, process.engine
        backend = _backend_on(settings, host, process.file, process.http, process.feed, languages)
        for run in engine.unfinished():
            if run.execution_id == execution_id:
                engine.resume(run.execution_id)
        yield backend


@asynccontextmanager
async def open_onlooker(settings: EmbeddedSettings, *, create: bool) -> AsyncIterator[Backend]:
    """Open what the API needs on a file, without an engine: another process may be serving it.

    InputError when there is no file, unless it may be created.
    """
    await asyncio.to_thread(prepare_file, settings.database, create=create)
    languages, http = Languages(builtin), LazyHttp()
    with closing(SqliteConnection(settings.database)) as file:
        host = host_on(settings.database, file, languages)
        backend = _backend_on(settings, host, file, http, Feed(host.archive), languages)
        watching = asyncio.create_task(_notify_feed(backend))
        try:
            yield backend
        finally:
            await cancel(watching)
            await http.aclose()


async def _notify_feed(backend: Backend) -> None:
    """Notify the feed of events that another process has written."""
    last = -1
    while True:
        now = await backend.archive.last_place()
        if now != last:
            last = now
            backend.feed.notify_all()
        await asyncio.sleep(LOOK_S)
