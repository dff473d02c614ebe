"""Wiring the embedded engine: SQLite, the host, and nothing else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.commands import HostCommands
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.lazy_clients import LazyHttp, LazyMail
from onward.adapters.host.log import HostLog
from onward.adapters.host.sealer import HostSealer
from onward.adapters.host.secrets import open_secrets
from onward.adapters.host.signer import HostSigner
from onward.adapters.sql.credentials import TableCredentials
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.signals import TableChildLinks, TableSignals
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteConnection, SqliteDatabase
from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.journal import SqliteJournal
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.languages import AnyProgram, compile_source
from onward.errors import InputError, StateConflictError
from onward.kernel.context import Payload
from onward.kernel.messages import CompletionMessage, RunMessage, Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.ports.clock import Clock
from onward.ports.nodes.commands import CommandKind
from onward.ports.nodes.node import Catalogue
from onward.ports.nodes.outside import Log
from onward.ports.security.credentials import Secrets
from onward.ports.storage.journal import Journal
from onward.ports.storage.run_queries import History, RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.activity.node_links import NodeLinks
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.embedded.engine import EmbeddedEngine, Observe
from onward.runtime.signals.child_runs import ChildRuns, RunHost
from onward.runtime.tasks import cancel
from onward.runtime.triggers.event_hub import HttpSink, LocalEventHub
from onward.runtime.triggers.events import EventTriggers

# -- Where runs that start runs live in one process: the embedded engine and its file.


class EmbeddedRunHost:
    """A `Home` on an engine in this process, which is told later."""

    def __init__(self, file: SqliteConnection, compiled: Callable[[Definition], Program]) -> None:
        tables = SqliteDatabase(file)
        self.archive: RunQueries = SqliteRunQueries(file)
        self.registry: WorkflowRegistry = TableWorkflows(tables)
        self.links: ChildLinks = TableChildLinks(tables)
        self.signals: SignalLog = TableSignals(tables)
        self.clock: Clock = HostClock()
        self.compile = compiled
        self.engine: EmbeddedEngine | None = None

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        if self.engine is None:
            raise InputError("the engine is not running")
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await self.engine.start(program, definition.source, given, execution_id)
        except InputError as problem:
            raise StateConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled."""
        return self.engine is not None and await self.engine.cancel(run.execution_id, reason)

    async def send(self, run: RunRecord, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run."""
        return self.engine is not None and await self.engine.send(token, payloads)


class ChildRunWatcher:
    """Looks after the runs of an engine that start others, as long as it serves."""

    def __init__(self, home: EmbeddedRunHost, log: Log) -> None:
        self._home = home
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self.family = ChildRuns(home)

    def serve_with(self, engine: EmbeddedEngine) -> None:
        """Begin; what was not told when an engine died is told now."""
        self._home.engine = engine
        self._do(self.family.catch_up())

    def observe(self, news: RunMessage) -> None:
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


_conforms: type[RunHost] = EmbeddedRunHost


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """All that can be set about an embedded engine."""

    database: Path = Path(".onward/onward.db")
    slots: int = 64
    """How many activities may run at once."""
    env_file: Path | None = None
    """A `.env`-like file with credentials."""
    credential_store: Path | None = None
    key_file: Path | None = None
    events_sink: str = ""
    """Where every event that runs emit is posted; "": nowhere."""
    allowed: tuple[CommandKind, ...] = ()
    """What kinds of processes tasks may start."""
    lifecycle_events: str = ""
    """Where a server tells what happens to runs; "": nowhere."""
    public_url: str = ""
    """Where people reach the API; "": nodes can hand out no links."""

    def signer(self) -> HostSigner:
        """Return what signs links; the first one makes its key."""
        file = self.key_file or self.database.parent / "links.key"
        return HostSigner(KeyRing(os.environ, file), makes_key=True)

    def sealer(self) -> HostSealer:
        """Return what seals secrets; the first one makes its key."""
        file = self.key_file or self.database.parent / "key"
        return HostSealer(KeyRing(os.environ, file), makes_key=True)


@contextmanager
def open_history(database: Path) -> Iterator[History]:
    """Open the journal to look at it: no lock is taken, so an engine may be writing it."""
    history = SqliteHistory(database)
    try:
        yield history
    finally:
        history.close()


def _secrets(settings: EmbeddedSettings, tables: SqliteDatabase) -> Secrets:
    ring = KeyRing(os.environ, settings.key_file)
    return open_secrets(
        os.environ,
        file=settings.env_file,
        store=settings.credential_store,
        key_file=settings.key_file,
        book=TableCredentials(tables, ring, makes_key=True),
    )


@asynccontextmanager
async def open_engine(
    settings: EmbeddedSettings,
    *,
    observe: Iterable[Observe] = (),
    events: bool = False,
    catalogue: Catalogue = builtin,
) -> AsyncIterator[EmbeddedEngine]:
    """Open the journal, and serve runs on it until the context is left."""

    programs: dict[str, AnyProgram] = {}

    def compiled(definition: Definition) -> AnyProgram:
        if definition.ref not in programs:
            programs[definition.ref] = compile_source(definition.source, catalogue)
        return programs[definition.ref]

    journal = SqliteJournal(settings.database)
    file = SqliteConnection(settings.database)
    http = LazyHttp()
    log = HostLog()
    household = ChildRunWatcher(EmbeddedRunHost(file, compiled), log)
    tables = SqliteDatabase(file)

    async def send(token: Token, payloads: Sequence[Payload]) -> bool:
        return await engine.send(token, payloads)

    sink = HttpSink(http, settings.events_sink) if settings.events_sink else None
    triggers = EventTriggers(TableTriggers(tables), TableEventSets(tables), HostClock())
    activities = ActivityRunner(
        http=http,
        mail=LazyMail(),
        log=log,
        secrets=_secrets(settings, tables),
        commands=HostCommands(settings.allowed),
        hub=LocalEventHub(
            TableListeners(tables), TableSignals(tables), send, HostClock(), sink, triggers
        ),
        lines=NodeLogBuffer(HostClock().now_ms),
        nursery=household.family,
        linker=NodeLinks(settings.signer(), HostClock(), settings.public_url),
    )
    engine = EmbeddedEngine(
        journal,
        compiled,
        activities,
        HostClock(),
        HostChance(),
        log,
        slots=settings.slots,
        observe=[*observe, household.observe],
        events=events,
    )
    try:
        async with engine:
            household.serve_with(engine)
            yield engine
    finally:
        await household.aclose()
        await activities.aclose()
        await http.aclose()
        file.close()
        journal.close()


_journal: type[Journal] = SqliteJournal
