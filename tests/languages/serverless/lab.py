"""A laboratory for workflows of the Serverless Workflow DSL: no network, stand-ins for services."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.adapters.host.commands import HostCommands
from onward.adapters.host.document_files import FetchError
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.signals import TableSignals
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteDatabase
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.embedded import host_on
from onward.bootstrap.languages import Languages
from onward.bootstrap.serverless_documents import gather
from onward.cli.output.run_result import RunError, error_of
from onward.kernel.ids import fingerprint
from onward.kernel.records import Definition
from onward.languages.document.source import read
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read.document import parse, parse_definition
from onward.nodes.serverless.catalogue import calls
from onward.ports.nodes.commands import CommandKind
from onward.ports.nodes.outside import HttpAnswer, HttpRequest, OutsideError
from onward.ports.storage.workflows import WorkflowRecord, WorkflowRegistry, WorkflowVersion
from onward.runtime.embedded.engine import EmbeddedEngine
from onward.runtime.triggers.event_hub import LocalEventHub
from support.harness import Ended, Lab

HEAD = {"dsl": "1.0.3", "namespace": "test", "name": "case", "version": "1.0.0"}


def workflow(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a document with these tasks."""
    return {"document": HEAD, "do": list(tasks), **more}


@dataclass(eq=False)
class Services:
    """Stand-ins for services: each URL has answers, one after another; the last one stays."""

    answers: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    requests: list[HttpRequest] = field(default_factory=list)
    parked: Callable[[int], None] = lambda change: None

    def answer(self, method: str, url: str, *answers: Any) -> None:
        """Say what a service answers: a value, `{status, headers, body}`, or "never"."""
        self.answers[method.upper(), url] = list(answers)

    def text(self, uri: str) -> str:
        """Return the text at a URI, for what is fetched before a workflow runs."""
        answers = self.answers.get(("GET", uri))
        if answers is None:
            raise FetchError("nobody is there")
        return (
            answers[0] if isinstance(answers[0], str) else msgspec.json.encode(answers[0]).decode()
        )

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        self.requests.append(request)
        answers = self.answers.get((request.method, request.url))
        if answers is None:
            raise OutsideError("nobody is there", "HTTP_CONNECT")
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        if given == "never":
            self.parked(1)
            try:
                await asyncio.Event().wait()
            finally:
                self.parked(-1)
        whole = {"status", "body", "headers"} & given.keys() if isinstance(given, dict) else set()
        given = given if whole else {"body": given}
        headers = {"content-type": "application/json", **given.get("headers", {})}
        body = given.get("body")
        data = body.encode() if isinstance(body, str) and whole else msgspec.json.encode(body)
        return HttpAnswer(status=given.get("status", 200), headers=headers, body=data)


def _waits_or_ended(news: Any) -> bool:
    return bool(news.status not in ("running", "success", "failed") or not hasattr(news, "node_id"))


async def register(registry: WorkflowRegistry, source: str) -> None:
    """Keep a workflow where runs find it, as its newest version."""
    parsed = parse(source)
    definition = Definition(fingerprint(parsed.source), parsed.id, parsed.source)
    before = await registry.workflow(parsed.id)
    number = before.latest + 1 if before else 1
    after = WorkflowRecord(
        workflow_id=parsed.id,
        revision=number,
        latest=number,
        published=number,
        enabled=True,
        created_ms=0,
        changed_ms=0,
    )
    version = WorkflowVersion(
        workflow_id=parsed.id, number=number, definition_ref=definition.ref, created_ms=0
    )
    assert await registry.save(after, version, definition)


class File:
    """The file of an engine, for a moment at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Return what work on it comes to."""
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=30)) as db:
            return work(db)


class Sink:
    """Takes every event that is published; `trouble` is what it refuses them with."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.trouble = ""

    async def take(self, event: Any) -> None:
        """Take one."""
        if self.trouble:
            raise OutsideError(self.trouble, "EVENT_SINK")
        self.events.append(dict(event))


class TreeLab(Lab):
    """A laboratory whose documents are of the DSL."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.services = Services(parked=self._parked)
        self.http = self.services
        self.heard = Sink()
        self.allowed: set[CommandKind] = set()
        self.paths = pytest.MonkeyPatch()
        self.others: list[str] = []
        """Documents of workflows that runs may start."""

    def equipment(self, send: Any) -> dict[str, Any]:
        """Return a hub on the same file, and commands if they are allowed."""
        tables = SqliteDatabase(File(self.path))
        self.hub = LocalEventHub(
            TableListeners(tables), TableSignals(tables), send, self.clock, self.heard.take
        )
        return {
            "hub": self.hub,
            "commands": HostCommands(self.allowed),
            "child_runs": self.host.child_runs,
        }

    @asynccontextmanager
    async def engine(self, *, slots: int = 64) -> AsyncIterator[EmbeddedEngine]:
        """Serve the file until the context is left; runs may start others."""
        file: Any = File(self.path)
        self.host = host = host_on(self.path, file, Languages(builtin))
        host._compile, host._log = self._compiled, self.log
        finish = host._finish

        def over(task: asyncio.Task[None]) -> None:
            finish(task)
            self.clock.stir()

        host._finish = over  # type: ignore[method-assign]  # the clock waits for it
        async with super().engine(slots=slots) as engine:
            for source in self.others:
                await register(TableWorkflows(SqliteDatabase(file)), source)
            self.others.clear()
            engine._observers.append(host.observe)
            idle = self.clock.idle
            self.clock.idle = lambda: not host._tasks and idle()
            host.attach(engine)
            try:
                yield engine
            finally:
                await host.aclose()

    def install(self, name: str, script: str) -> None:
        """Put a program where processes find it; the test's own PATH is set back after it."""
        file = self.path.parent / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        self.paths.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")

    async def run_with_events(
        self, document: Any, given: Any, events: list[dict[str, Any]]
    ) -> Ended:
        """Run a document to its end; events are published as soon as it waits for anything."""
        async with self.engine() as engine:
            run = await self.start(engine, document, given)
            await self.publish_when_it_waits(events)
            return await self.finish(engine, run)

    async def publish_when_it_waits(self, events: list[dict[str, Any]]) -> None:
        """Publish events as soon as the run waits; the clock stands still until then."""
        self.clock.hold()
        await self.book.until(lambda: any(map(_waits_or_ended, self.news)))
        for number, event in enumerate(events):
            await self.publish(event, number)
        self.clock.release()

    async def publish(self, event: dict[str, Any], number: int = 0) -> None:
        """Publish an event from outside."""
        head = {"specversion": "1.0", "id": f"e{number}", "source": "test"}
        await self.hub.publish({**head, **event})

    def _parked(self, change: int) -> None:
        self.book.parked += change
        self.clock.stir()

    def program(self, document: dict[str, Any] | str) -> ServerlessProgram:
        """Return a compiled document (a value, or YAML text)."""
        if not isinstance(document, str):
            return ServerlessProgram(parse_definition(document), calls)
        fetched = gather(read(document).value, "case.yaml", self.services.text)
        parsed = parse(document, fetched=fetched)
        return ServerlessProgram(parsed, calls)

    def _compiled(self, definition: Definition) -> ServerlessProgram:
        return ServerlessProgram(parse(definition.source), calls)


def output_of(ended: Ended) -> Any:
    """Return the output of a run that completed."""
    assert ended.message.error is None
    assert "completed" == ended.status
    return ended.context["$output"]


def error_in(ended: Ended) -> RunError:
    """Return the error of a run that did not complete."""
    error = error_of(ended.message)
    assert error is not None
    return error
