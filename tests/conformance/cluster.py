"""The laboratory of a cluster: RabbitMQ, Redis and PostgreSQL, and the processes on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from conformance.cluster_timetable import ClusterTimetable, open_timetable
from conformance.crew import Crew
from conformance.jumping_time import JumpingTime
from conformance.laboratory import Event, Given, Laboratory
from conformance.writings import Writings
from languages.serverless.lab import Services, Sink, register
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.sql.publish_positions import TablePublishPositions
from onward.adapters.sql.signals import TableChildLinks
from onward.bootstrap.cluster_backend import backend_on
from onward.bootstrap.languages import compile_source
from onward.bootstrap.serverless_documents import gather
from onward.kernel.messages import NodeStatusMessage, decode_completion, encode_message
from onward.kernel.records import RunRecord
from onward.languages.document.source import read
from onward.languages.serverless.read.document import parse
from onward.nodes.auth import oauth
from onward.nodes.serverless import fetched_documents
from onward.ports.nodes.commands import CommandKind
from onward.ports.nodes.outside import HttpAnswer, HttpRequest
from onward.runtime.cluster.run_control import LATE_MS
from onward.runtime.queues import STATUS
from onward.runtime.signals.lifecycle_publisher import LifecyclePublisher
from runtime.cluster.lab import Lab, until
from support.harness import Ended, ListLog

SINK = "http://sink.test/events"
"""Where runs' events are posted."""
FALL = 0.5
"""Where dice fall unless somebody says otherwise."""


class RealTime:
    """The time of the world, which passes by itself."""

    @property
    def now(self) -> int:
        """What it is."""
        return HostClock().now_ms()

    def reset(self) -> None:
        """Do nothing: it does not begin again."""

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Let it pass: nobody can hold it."""
        yield


class ClusterLab:
    """A `Laboratory` on a cluster. One after another is made on the same cluster."""

    def __init__(
        self,
        lab: Lab,
        crew: Crew,
        time: JumpingTime | RealTime,
        writings: Writings,
        patch: pytest.MonkeyPatch,
        install: Callable[[str, str], None],
    ) -> None:
        self.services = Services()
        self.heard = Sink()
        self.others: list[str] = []
        self.allowed: set[CommandKind] = set()
        self.install = install
        self._lab = lab
        self._crew = crew
        self._time = time
        self._writings = writings
        self._patch = patch
        self._secrets: dict[str, dict[str, str]] = {}
        self._home = backend_on(lab.cluster)
        self._outlet = ""
        self._run = ""
        # The one thing that is not real: nobody but the scenario answers calls.
        lab.cluster.http.send = self._send  # type: ignore[method-assign]
        fetched_documents._caches.clear()  # a scenario knows nothing of those before it
        oauth._caches.clear()
        self.load_dice(FALL)
        self._write_secrets()
        time.reset()
        writings.forget()

    def now_ms(self) -> int:
        """Return the time."""
        return self._time.now

    def keep_secret(self, name: str, fields: dict[str, str]) -> None:
        """Put a secret into the file that the worker reads."""
        self._secrets[name] = fields
        self._write_secrets()

    def _write_secrets(self) -> None:
        lines = [
            f"ONWARD_CREDENTIAL_{name.upper()}='{msgspec.json.encode(fields).decode()}'\n"
            for name, fields in self._secrets.items()
        ]
        file = self._lab.cluster.settings.env_file
        assert file is not None
        file.with_suffix(".new").write_text("".join(lines))
        file.with_suffix(".new").replace(file)

    def load_dice(self, fall: float) -> None:
        """Let dice fall at a number."""
        self._patch.setattr(HostChance, "dice", lambda _: fall)

    async def _send(self, request: HttpRequest) -> HttpAnswer:
        if request.url != SINK:
            await self._crew.call_outside()
            answer = await self.services.send(request)
            await self._crew.call_outside()
            return answer
        await self.heard.take(msgspec.json.decode(request.body or b""))
        return HttpAnswer(status=202, headers={}, body=b"")

    async def run(self, document: str, given: Given) -> Ended:
        """Run a document to its end."""
        return await self._finish(await self._start(document, given))

    async def run_with_events(self, document: str, given: Given, events: Sequence[Event]) -> Ended:
        """Run a document to its end; events are published as soon as it waits for anything."""
        if not events:
            return await self.run(document, given)
        async with self._waiting(document, given) as run:
            hub = self._lab.cluster.hub()
            for number, event in enumerate(events):
                head = {"specversion": "1.0", "id": f"{run.execution_id}-{number}"}
                await hub.publish({"source": "test", **head, **event})
        return await self._finish(run.execution_id)

    async def run_among_deaths(self, document: str, given: Given, events: Sequence[Event]) -> Ended:
        """Do so while the worker dies again and again."""
        async with self._crew.dying():
            ended = await self.run_with_events(document, given, events)
        return replace(ended, news=_once(ended.statuses()))

    async def run_with_a_pause(self, document: str, given: Given) -> Ended:
        """Run a document that is paused when it waits, once more, and goes on."""
        async with self._waiting(document, given) as run:
            assert await self._home.steering.pause(run)
            assert await self._home.steering.pause(run)
            assert await self._home.steering.resume(run)
        return await self._finish(run.execution_id)

    async def run_and_cancel(self, document: str, given: Given) -> Ended:
        """Run a document that is cancelled when it waits."""
        async with self._waiting(document, given) as run:
            assert await self._home.cancel(run, "enough")
            return await self._finish(run.execution_id)

    @asynccontextmanager
    async def _waiting(self, document: str, given: Given) -> AsyncIterator[RunRecord]:
        """Start a run, and wait until it waits; no time passes until the context is left."""
        with self._time.standing_still():
            run = await self._start(document, given)

            async def waits() -> bool:
                return any(
                    status.execution_id == run and status.status == "waiting"
                    for status in self._lab.folded.statuses
                )

            await until(waits)
            execution = await self._lab.cluster.store.execution(run)
            assert execution is not None
            yield execution

    async def _start(self, document: str, given: Given) -> str:
        fetched = gather(read(document).value, "case.yaml", self.services.text)
        program = compile_source(parse(document, fetched=fetched).source)
        for source in self.others:
            await register(self._home.registry, source)
        await self._crew.allow(self.allowed)
        starter = self._lab.cluster.starter()
        self._run = await starter.start(program, program.document.source, given)
        return self._run

    async def _finish(self, run: str) -> Ended:
        await self._over([run])
        await self._hear_all(f"after-{run}")
        store = self._lab.cluster.store
        execution = await store.execution(run)
        assert execution is not None
        message = decode_completion(execution.completion or b"")
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        history = tuple(await store.node_runs(run))
        news = tuple(status for status in self._lab.folded.statuses if status.execution_id == run)
        return Ended(run, message, context, news, history)

    async def _over(self, runs: Sequence[str]) -> None:
        """Return when runs have ended, and left nothing behind."""
        store, links = self._lab.cluster.store, TableChildLinks(self._lab.cluster.tables)
        self._lab.ended += runs
        for run in runs:

            async def over(run: str = run) -> bool:
                execution = await store.execution(run)
                return execution is not None and execution.completion is not None

            await until(over)
            children = await links.children(run, after="", limit=100)
            self._lab.ended += [child.child_id for child in children]
        await until(self._lab.tidy)

    async def _hear_all(self, marker: str) -> None:
        """Wait for all that was told so far: statuses are folded in the order they were sent."""
        last = NodeStatusMessage(
            workflow_id="marker",
            execution_id=marker,
            node_id="marker",
            status="running",
            executed_at="2025-01-01T00:00:00Z",
            duration_ms=0,
        )
        await self._lab.cluster.bus.publish(STATUS, encode_message(last))

        async def heard() -> bool:
            return any(status.execution_id == marker for status in self._lab.folded.statuses[-50:])

        await until(heard)

    async def places_of(self, text: str) -> list[str]:
        """Return where a text is written: in PostgreSQL, to Redis, in messages or in the log."""
        return await self._writings.places_of(text)

    async def keep_events(self) -> None:
        """Tell of the lifecycle of what runs from now on."""
        self._outlet = HostChance().publish_id()
        outlets = TablePublishPositions(self._lab.cluster.tables)
        first = await self._home.archive.last_place()
        await outlets.take(self._outlet, "", first=first, now_ms=0, until_ms=0)

    async def lifecycle_events(self) -> list[Event]:
        """Return what was told of the run since then."""
        told: list[Event] = []

        async def take(event: Any) -> None:
            if event["source"].endswith(f"/{self._run}"):
                told.append(dict(event))

        outlets, archive = TablePublishPositions(self._lab.cluster.tables), self._home.archive
        publisher = LifecyclePublisher(
            archive, outlets, take, HostClock(), ListLog(), "me", late_ms=LATE_MS
        )
        assert isinstance(self._time, JumpingTime)
        self._time.now += LATE_MS
        while await publisher.turn(self._outlet):
            pass
        return told

    @asynccontextmanager
    async def timetable(self) -> AsyncIterator[ClusterTimetable]:
        """Open a master that starts runs."""
        assert isinstance(self._time, JumpingTime)
        async with open_timetable(self._lab, self._time, self._over) as table:
            yield table


def _once(statuses: Sequence[NodeStatusMessage]) -> tuple[NodeStatusMessage, ...]:
    """Return what was told up to the end of each visit: who died may have told it before."""
    news, over = [], set()
    for status in statuses:
        visit = (status.token_id, status.node_id)
        if visit not in over:
            news.append(status)
        if status.status in ("success", "failed"):
            over.add(visit)
    return tuple(news)


_conforms: type[Laboratory] = ClusterLab
