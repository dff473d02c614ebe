"""Wiring the embedded engine: SQLite, the host, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.commands import HostCommands
from onward.adapters.host.lazy_clients import LazyHttp, LazyMail
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
from onward.adapters.sqlite.journal import SqliteJournal
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.adapters.sqlite.start_rules import SqliteStartRules
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.languages import Languages
from onward.bootstrap.security import open_signer, secrets_on
from onward.bootstrap.settings import EmbeddedSettings
from onward.ports.nodes.node import Catalogue
from onward.ports.storage.journal import Journal
from onward.ports.storage.run_queries import History
from onward.runtime.activity.node_links import NodeLinks
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.embedded.engine import EmbeddedEngine, Observe
from onward.runtime.embedded.run_control import EmbeddedRunControl
from onward.runtime.embedded.run_host import EmbeddedRunHost
from onward.runtime.feed import Feed
from onward.runtime.triggers.event_hub import HttpSink, LocalEventHub
from onward.runtime.triggers.events import EventTriggers


class EmbeddedProcess(NamedTuple):
    """A journal that this process serves, and what serves it."""

    engine: EmbeddedEngine
    host: EmbeddedRunHost
    file: SqliteConnection
    http: LazyHttp
    feed: Feed


@contextmanager
def open_history(database: Path) -> Iterator[History]:
    """Open the journal to read it: no lock is taken, so an engine may be writing it."""
    with closing(SqliteHistory(database)) as history:
        yield history


def host_on(database: Path, file: SqliteConnection, languages: Languages) -> EmbeddedRunHost:
    """Return the host of the runs in a file, to which an engine can be attached."""
    tables, clock = SqliteDatabase(file), HostClock()
    return EmbeddedRunHost(
        archive=SqliteRunQueries(file),
        registry=TableWorkflows(tables),
        signals=TableSignals(tables),
        links=TableChildLinks(tables),
        run_control=EmbeddedRunControl(
            open_inspector=lambda: closing(SqliteInspector(database)),
            open_history=lambda: SqliteHistory(database),
            controls=TableRunDecisions(tables),
            flow=SqliteStartRules(tables),
            clock=clock,
        ),
        compile_definition=languages.compile,
        clock=clock,
        log=HostLog(),
    )


def _activities(
    settings: EmbeddedSettings, host: EmbeddedRunHost, file: SqliteConnection, http: LazyHttp
) -> ActivityRunner:
    tables, clock = SqliteDatabase(file), host.clock
    key_file = settings.key_file or settings.database.parent / "links.key"
    return ActivityRunner(
        http=http,
        mail=LazyMail(),
        log=HostLog(),
        secrets=secrets_on(settings, tables, makes_key=True),
        commands=HostCommands(settings.allowed),
        hub=LocalEventHub(
            TableListeners(tables),
            host.signals,
            host.send,
            clock,
            HttpSink(http, settings.events_sink) if settings.events_sink else None,
            EventTriggers(TableTriggers(tables), TableEventSets(tables), clock),
        ),
        node_logs=NodeLogBuffer(clock.now_ms),
        child_runs=host.child_runs,
        node_links=NodeLinks(open_signer(key_file, makes_key=True), clock, settings.public_url),
    )


@asynccontextmanager
async def serve_file(
    settings: EmbeddedSettings,
    languages: Languages,
    *,
    observe: Iterable[Observe] = (),
    events: bool = False,
) -> AsyncIterator[EmbeddedProcess]:
    """Open the journal, and serve runs on it until the context is left.

    `events`: runs have an event log, which the feed follows.
    """
    async with AsyncExitStack() as stack:
        # The journal first: it brings the file up to date, and takes its lock.
        journal = stack.enter_context(closing(SqliteJournal(settings.database)))
        file = stack.enter_context(closing(SqliteConnection(settings.database)))
        http = LazyHttp()
        stack.push_async_callback(http.aclose)
        host = host_on(settings.database, file, languages)
        feed = Feed(host.archive)
        activities = _activities(settings, host, file, http)
        stack.push_async_callback(activities.aclose)
        stack.push_async_callback(host.aclose)
        observers = [*observe, host.observe]
        if events:
            observers.append(lambda message: feed.notify(message.execution_id))
        engine = EmbeddedEngine(
            journal,
            languages.compile,
            activities,
            host.clock,
            HostChance(),
            HostLog(),
            slots=settings.slots,
            observe=observers,
            events=events,
        )
        async with engine:
            host.attach(engine)
            yield EmbeddedProcess(engine, host, file, http, feed)


@asynccontextmanager
async def open_engine(
    settings: EmbeddedSettings,
    *,
    observe: Iterable[Observe] = (),
    events: bool = False,
    catalogue: Catalogue = builtin,
) -> AsyncIterator[EmbeddedEngine]:
    """Open the journal, and serve runs on it until the context is left."""
    languages = Languages(catalogue)
    async with serve_file(settings, languages, observe=observe, events=events) as process:
        yield process.engine


_conforms: type[Journal] = SqliteJournal
