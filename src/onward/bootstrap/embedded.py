"""Wiring the embedded engine: SQLite, the host, and nothing else."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from onward.adapters.access.credentials import TableCredentials
from onward.adapters.access.gatherings import TableGatherings
from onward.adapters.access.listeners import TableListeners
from onward.adapters.access.signals import TableSignals
from onward.adapters.embedded.history import SqliteHistory
from onward.adapters.embedded.journal import SqliteJournal
from onward.adapters.embedded.tables import SqliteTables
from onward.adapters.embedded.threaded import Threaded
from onward.adapters.embedded.triggers import SqliteTriggers
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.commands import HostCommands
from onward.adapters.host.http import HostHttp
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.log import HostLog, configure_log
from onward.adapters.host.mail import HostMail
from onward.adapters.host.sealer import HostSealer
from onward.adapters.host.secrets import open_secrets
from onward.adapters.host.signer import HostSigner
from onward.adapters.host.vault import Vault, open_vault
from onward.bootstrap.homes import EngineHome, Household
from onward.bootstrap.languages import AnyProgram, compile_source
from onward.kernel.context import Payload
from onward.kernel.messages import Token
from onward.nodes.catalogue import builtin
from onward.ports.commands import CommandKind
from onward.ports.history import History
from onward.ports.journal import Definition, Journal
from onward.ports.node import Catalogue
from onward.ports.secrets import Secrets
from onward.runtime.activities import Activities
from onward.runtime.engine import Engine, Observe
from onward.runtime.event_triggers import EventTriggers
from onward.runtime.hub import HttpSink, Hub
from onward.runtime.line_keeper import LineKeeper
from onward.runtime.linking import Linker

__all__ = [
    "Settings",
    "Vault",
    "builtin",
    "compile_source",
    "configure_log",
    "new_id",
    "now_ms",
    "open_engine",
    "open_history",
    "open_secrets",
    "open_vault",
]


@dataclass(frozen=True, slots=True)
class Settings:
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


def now_ms() -> int:
    """Return the time in epoch milliseconds, for what is only shown."""
    return HostClock().now_ms()


def new_id() -> str:
    """Return an id that nothing else has, for what is told to an engine."""
    return HostChance().publish_id()


@contextmanager
def open_history(database: Path) -> Iterator[History]:
    """Open the journal to look at it: no lock is taken, so an engine may be writing it."""
    history = SqliteHistory(database)
    try:
        yield history
    finally:
        history.close()


def _secrets(settings: Settings, tables: SqliteTables) -> Secrets:
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
    settings: Settings,
    *,
    observe: Iterable[Observe] = (),
    events: bool = False,
    catalogue: Catalogue = builtin,
) -> AsyncIterator[Engine]:
    """Open the journal, and serve runs on it until the context is left."""

    programs: dict[str, AnyProgram] = {}

    def compiled(definition: Definition) -> AnyProgram:
        if definition.ref not in programs:
            programs[definition.ref] = compile_source(definition.source, catalogue)
        return programs[definition.ref]

    journal = SqliteJournal(settings.database)
    file = Threaded(settings.database)
    http = HostHttp()
    log = HostLog()
    household = Household(EngineHome(file, compiled), log)
    tables = SqliteTables(file)

    async def send(token: Token, payloads: Sequence[Payload]) -> bool:
        return await engine.send(token, payloads)

    sink = HttpSink(http, settings.events_sink) if settings.events_sink else None
    triggers = EventTriggers(SqliteTriggers(file), TableGatherings(tables), HostClock())
    activities = Activities(
        http=http,
        mail=HostMail(),
        log=log,
        secrets=_secrets(settings, tables),
        commands=HostCommands(settings.allowed),
        hub=Hub(TableListeners(tables), TableSignals(tables), send, HostClock(), sink, triggers),
        lines=LineKeeper(HostClock().now_ms),
        nursery=household.family,
        linker=Linker(settings.signer(), HostClock(), settings.public_url),
    )
    engine = Engine(
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
