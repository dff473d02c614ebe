"""The same scenarios on RabbitMQ, Redis and PostgreSQL: all that do not look behind the scenes.

Those about time are played with a clock that jumps to the next timer when nobody has anything to
do; the others in real time.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from conformance import lifecycle, stand_ins, timetable  # noqa: F401  (their sentences)
from conformance.scenarios import Scenario, play, scenarios
from distributed.lab import Lab, Quiet, held, idle_laboratory, laboratory, until
from serverless.lab import Services, TreeLab, register
from support.harness import Ended
from weft.adapters.access.signals import TableLinks
from weft.adapters.host.clock import HostClock
from weft.adapters.postgres.registry import PostgresRegistry
from weft.bootstrap.bundles import gather
from weft.bootstrap.languages import compile_source
from weft.kernel.messages import NodeStatusMessage, decode_completion, encode_message
from weft.languages.graph.source import read
from weft.languages.serverless.document import parse
from weft.nodes import resources, tokens
from weft.ports.commands import KINDS
from weft.runtime.master import Master
from weft.runtime.queues import EXECUTION, STATUS
from weft.runtime.worker import Worker

BEGIN_MS = 1_750_000_000_000
_NEEDS_MORE = re.compile(
    r"dies again|the secret|dice|never answers|written nowhere|have been published|--allow"
    r"|seconds pass|lifecycle|run-1"
)
"""What only the laboratory of the embedded engine has."""
_NEEDS_TIME = re.compile(r"should take|wait:|delay:|range\(5000\)|1750000000|PT1M|PT30S|lifetime")


def fits(scenario: Scenario) -> bool:
    """Return whether a scenario can be played on a cluster."""
    return _NEEDS_MORE.search(_whole(scenario)) is None


def in_time(scenario: Scenario) -> bool:
    """Return whether a scenario is about time."""
    return _NEEDS_TIME.search(_whole(scenario)) is not None


def _whole(scenario: Scenario) -> str:
    return "\n".join(f"{text}\n{block or ''}" for text, block in scenario.steps)


class JumpingTime:
    """The clock of all processes: it stands still, and jumps when all of them are idle."""

    QUIET = 20
    """How often in a row there must be nothing to do."""

    def __init__(self) -> None:
        self.now = BEGIN_MS
        self.held = False

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set or the time has come, whichever is first."""
        while not event.is_set() and (until_ms is None or self.now < until_ms):
            await asyncio.sleep(0.005)

    async def pass_by(self, lab: Lab, worker: Worker, rabbitmq: str) -> None:
        """Jump from timer to timer, until cancelled."""
        scheduler, quiet = lab.cluster.scheduler(), 0
        while True:
            await asyncio.sleep(0.01)
            due_ms = await scheduler._timers.next_due()
            quiet = 0 if self.held or worker._tasks or due_ms is None else quiet + 1
            if due_ms is None or (due_ms > self.now and quiet < self.QUIET):
                continue
            if due_ms > self.now and await asyncio.to_thread(_something_waits, rabbitmq):
                quiet = 0
            elif not worker._tasks:
                self.now, quiet = max(self.now, due_ms), 0
                await scheduler.turn()


def _something_waits(rabbitmq: str) -> bool:
    return EXECUTION in held(rabbitmq)


@dataclass(slots=True)
class ClusterLab:
    """What a scenario needs of a laboratory, on the cluster."""

    lab: Lab
    services: Services
    clock: Any
    others: list[str]
    allowed: set[str]
    install: Any

    async def run(self, document: str, given: Any = None) -> Ended:
        """Run a document to its end."""
        return await self.run_with_events(document, given, [])

    async def run_with_events(
        self, document: str, given: Any, events: list[dict[str, Any]]
    ) -> Ended:
        """Run a document to its end; events are published as soon as it waits for anything."""
        fetched = gather(read(document).value, "case.yaml", self.services.text)
        program = compile_source(parse(document, fetched=fetched).source)
        registry = PostgresRegistry(self.lab.cluster.store.pool, self.lab.cluster.store.place)
        for source in self.others:
            await register(registry, source)
        run = await self.lab.cluster.starter().start(program, program.document.source, given)
        self.lab.ended.append(run)
        store = self.lab.cluster.store
        if events:
            self.clock.held = True
            await until(lambda: self._waits(run))
        hub = self.lab.cluster.hub()
        for number, event in enumerate(events):
            head = {"specversion": "1.0", "id": f"{run}-{number}", "source": "test"}
            await hub.publish({**head, **event})
        self.clock.held = False

        async def over() -> bool:
            execution = await store.execution(run)
            return execution is not None and execution.completion is not None

        await until(over)
        links = TableLinks(self.lab.cluster.tables)
        children = await links.children(run, after="", limit=100)
        self.lab.ended += [one.child_id for one in children]
        await until(self.lab.tidy)
        await self._hear_all(f"after-{run}")
        execution = await store.execution(run)
        assert execution is not None
        message = decode_completion(execution.completion or b"")
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        news = [one for one in self.lab.folded.statuses if one.execution_id == run]
        history = tuple(await store.node_runs(run))
        return Ended(run, message, context, tuple(news), history)

    async def _waits(self, run: str) -> bool:
        return any(
            one.execution_id == run and one.status == "waiting" for one in self.lab.folded.statuses
        )

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
        await self.lab.cluster.bus.publish(STATUS, encode_message(last))

        async def heard() -> bool:
            return any(one.execution_id == marker for one in self.lab.folded.statuses[-50:])

        await until(heard)


@pytest.mark.timeout(900)
async def test_every_scenario_that_fits_passes_on_the_cluster(
    rabbitmq_url, redis_url, postgres_url, tmp_path
):
    places = (rabbitmq_url, redis_url, postgres_url)
    fitting = [one for one in scenarios() if fits(one) and not in_time(one)]
    async with laboratory(*places, allowed=KINDS, families=True) as lab:
        failed = await _failed(fitting, lab, SimpleNamespace(now=0), tmp_path)
    assert [] == failed


@pytest.mark.timeout(900)
async def test_every_scenario_about_time_passes_on_the_cluster(
    rabbitmq_url, redis_url, postgres_url, tmp_path, monkeypatch
):
    time = JumpingTime()
    monkeypatch.setattr(HostClock, "now_ms", lambda _: time.now)
    monkeypatch.setattr(HostClock, "wait", time.wait)
    places = (rabbitmq_url, redis_url, postgres_url)
    fitting = [one for one in scenarios() if fits(one) and in_time(one)]
    async with idle_laboratory(*places, allowed=KINDS) as lab:
        worker = lab.cluster.worker()
        ended = lab.cluster.family().ended
        master = Master(lab.cluster.bus, lab.folded, Quiet(), ended=ended)
        passing = time.pass_by(lab, worker, rabbitmq_url)
        async with lab.running(worker.run(), master.run(), passing):
            failed = await _failed(fitting, lab, time, tmp_path)
        await worker.drain(5)
    assert [] == failed


async def _failed(fitting: list[Scenario], lab: Lab, clock: Any, folder: Path) -> list[str]:
    """Play scenarios one after the other, and return those that failed, and why."""
    failed: list[str] = []
    own = TreeLab(folder)
    services = Services()
    # The one thing that is not real: nobody but the scenario answers calls.
    lab.cluster.http.send = services.send  # type: ignore[method-assign]
    for scenario in fitting:
        services.answers.clear()
        services.requests.clear()
        resources._shelves.clear()  # a scenario knows nothing of those before it
        tokens._shelves.clear()
        clock.now = BEGIN_MS
        stage = ClusterLab(lab, services, clock, [], set(), own.install)
        try:
            await play(scenario, stage)
        except pytest.skip.Exception:
            continue  # what is missing is said where it runs embedded
        except (AssertionError, IndexError) as problem:
            failed.append(f"{scenario.feature}: {scenario.name}: {problem}")
    own.paths.undo()
    assert len(fitting) > 50
    return failed
