"""A laboratory for workflows: a real engine on a real file, with time and chance in our hands."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from onward.adapters.sqlite.journal import SqliteJournal
from onward.errors import CredentialError
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, RunMessage
from onward.kernel.outcome import Failed, Succeeded
from onward.kernel.program import Activity
from onward.kernel.records import Definition, VisitRecord
from onward.languages.graph.document import parse, parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.ports.nodes.outside import Http, HttpAnswer, HttpRequest, MailServer, OutsideError
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.embedded.engine import EmbeddedEngine
from support.jumping import FixedChance, JumpingClock
from support.probe import PATIENCE_S, Book, catalogue_with

T = TypeVar("T")
LIVE_TABLES = ("message", "timer", "cell")


class NoNetwork:
    """The outside world of tests that must not have one."""

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Refuse to connect."""
        raise OutsideError(f"no network in tests: {request.url}", "HTTP_CONNECT")


class NoMail:
    """A post office that is closed."""

    async def send(
        self, server: MailServer, sender: str, recipients: Sequence[str], message: bytes
    ) -> Sequence[str]:
        """Refuse to connect."""
        raise OutsideError("no mail in tests", "SMTP_CONNECT")


class ListLog:
    """A log that is kept."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def write(self, level: str, message: str, **fields: object) -> None:
        """Keep one line."""
        self.lines.append((level, message, fields))


class NamedSecrets:
    """Credentials from a dictionary."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, str]] = {}

    async def resolve(self, name: str, workflow_id: str) -> Mapping[str, str]:
        """Return the fields of a credential."""
        if name not in self.known:
            raise CredentialError(f"no credential {name!r}")
        return self.known[name]


@dataclass(frozen=True, slots=True)
class CountedActivities(ActivityRunner):
    """Activities that say how many of them run, so that the clock knows when nothing happens."""

    running: set[asyncio.Task[Any] | None]

    async def run(self, token: Any, activity: Activity) -> Succeeded | Failed:
        """Run one, counted."""
        task = asyncio.current_task()
        self.running.add(task)
        try:
            return await ActivityRunner.run(self, token, activity)
        finally:
            self.running.discard(task)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, with everything it left and said."""

    execution_id: str
    message: CompletionMessage
    context: dict[str, Any]
    news: tuple[RunMessage, ...]
    history: tuple[VisitRecord, ...]

    @property
    def status(self) -> str:
        """Return how it ended."""
        return self.message.status

    def output(self, node: str) -> Any:
        """Return what `node` left in the final context."""
        return self.context.get(f"${node}")

    def statuses(self, node: str | None = None) -> list[NodeStatusMessage]:
        """Return the status messages, of one node or of all."""
        return [
            new
            for new in self.news
            if isinstance(new, NodeStatusMessage) and node in (None, new.node_id)
        ]

    def states(self, node: str) -> list[str]:
        """Return the states a node went through, in order."""
        return [status.status for status in self.statuses(node)]

    def visited(self) -> set[str]:
        """Return the nodes that anything was said about."""
        return {status.node_id for status in self.statuses()}

    def outputs(self, node: str) -> list[Any]:
        """Return what each successful visit of `node` put out, in the order it was recorded."""
        return [
            None if run.output is None else msgspec.json.decode(run.output)
            for run in self.history
            if run.node_id == node and run.status == "success"
        ]


class Lab:
    """One database file, and engines on it, one after another."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "onward.db"
        self.clock = JumpingClock()
        self.chance = FixedChance()
        self.log = ListLog()
        self.secrets = NamedSecrets()
        self.http: Http = NoNetwork()
        self.book = Book(self.clock.now_ms, self.clock.stir)
        self.catalogue = catalogue_with(self.book)
        self.news: list[RunMessage] = []
        self.complaints: list[str] = []
        """What nobody handled: an exception that a task ended with, and the like."""
        self.keeps_events = False
        """Whether runs have a log of events."""
        self.open_journal: Callable[[Path], SqliteJournal] = SqliteJournal

    def program(self, document: dict[str, Any] | str) -> GraphProgram:
        """Return a compiled document (a value, or YAML text)."""
        parsed = parse(document) if isinstance(document, str) else parse_definition(document)
        return compile_graph(parsed, self.catalogue)

    @asynccontextmanager
    async def engine(self, *, slots: int = 64) -> AsyncIterator[EmbeddedEngine]:
        """Serve the file until the context is left."""
        journal = self.open_journal(self.path)
        running: set[asyncio.Task[Any] | None] = set()

        async def send(*given: Any) -> bool:
            return await engine.send(*given)

        activities = CountedActivities(
            self.http,
            NoMail(),
            self.log,
            self.secrets,
            running,
            node_logs=NodeLogBuffer(self.clock.now_ms),
            **self.equipment(send),
        )
        engine = EmbeddedEngine(
            journal,
            self._compiled,
            activities,
            self.clock,
            self.chance,
            self.log,
            slots=slots,
            observe=[self.news.append],
            events=self.keeps_events,
        )

        def idle() -> bool:
            commit = engine._committing  # the one thing that happens outside the event loop
            return len(running) == self.book.parked and (commit is None or commit.done())

        self.clock.idle = idle
        asyncio.get_running_loop().set_exception_handler(self._complain)
        try:
            async with engine:
                yield engine
        finally:
            await activities.aclose()
            journal.close()
        assert [] == self.complaints

    def equipment(self, send: Callable[..., Awaitable[bool]]) -> dict[str, Any]:
        """Return what else activities are given; `send` sends tokens to runs."""
        return {}

    def _complain(self, _: object, about: dict[str, Any]) -> None:
        self.complaints.append(f"{about['message']}: {about.get('exception')!r}")

    def _compiled(self, definition: Definition) -> GraphProgram:
        return compile_graph(parse(definition.source), self.catalogue)

    async def start(
        self, engine: EmbeddedEngine, document: Any, given: Any = None, **how: Any
    ) -> str:
        """Start a run and return its id."""
        program = self.program(document)
        return await patiently(engine.start(program, program.document.source, given, **how))

    async def finish(self, engine: EmbeddedEngine, execution_id: str) -> Ended:
        """Wait for a run to end and return it, held to what every ending promises."""
        message = await patiently(engine.wait(execution_id))
        ended = Ended(
            execution_id,
            message,
            engine.context_of(message),
            tuple(new for new in self.news if new.execution_id == execution_id),
            tuple(engine.history(execution_id)),
        )
        check_promises(ended)
        assert {} == self.leftovers(execution_id)
        return ended

    async def run(self, document: Any, given: Any = None, **how: Any) -> Ended:
        """Run a document to its end."""
        async with self.engine() as engine:
            return await self.finish(engine, await self.start(engine, document, given, **how))

    async def resume(self, execution_id: str) -> Ended:
        """Take up a run on a new engine and finish it."""
        async with self.engine() as engine:
            engine.resume(execution_id)
            return await self.finish(engine, execution_id)

    def leftovers(self, execution_id: str) -> dict[str, int]:
        """Return how many rows each table of live state still holds for a run."""
        with closing(sqlite3.connect(self.path)) as db:
            counts = {
                table: db.execute(
                    f"SELECT count(*) FROM {table} WHERE execution_id = ?", (execution_id,)
                ).fetchone()[0]
                for table in LIVE_TABLES
            }
        return {table: count for table, count in counts.items() if count}

    def tamper(self, statement: str, *values: object) -> int:
        """Change the closed file behind the engine's back; return how many rows changed."""
        with closing(sqlite3.connect(self.path)) as db, db:
            return db.execute(statement, values).rowcount


async def patiently(work: Awaitable[T]) -> T:
    """Return what `work` comes to, or fail: with a jumping clock nothing takes long."""
    async with asyncio.timeout(PATIENCE_S):
        return await work


def check_promises(ended: Ended) -> None:
    """Every run keeps these, whatever it is about."""
    completions = [new for new in ended.news if isinstance(new, CompletionMessage)]
    assert [ended.message] == completions, "one completion, and it is the one that was returned"
    assert ended.news[-1] is completions[0], "the completion is the last word"
    visits = [(run.token_id, run.node_id) for run in ended.history]
    assert len(visits) == len(set(visits)), "a visit is recorded once"
    over: set[tuple[str, str]] = set()
    for status in ended.statuses():
        visit = (status.token_id, status.node_id)
        assert visit not in over, f"{status.node_id} is {status.status} after it was over"
        if status.status in ("success", "failed"):
            over.add(visit)
