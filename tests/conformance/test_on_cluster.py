"""The same scenarios on RabbitMQ, Redis and PostgreSQL: all that need no clock and no secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from conformance import lifecycle, stand_ins, timetable  # noqa: F401  (their sentences)
from conformance.scenarios import Scenario, play, scenarios
from distributed.lab import Lab, laboratory, until
from serverless.lab import Services, TreeLab, register
from support.harness import Ended
from weft.adapters.access.signals import TableLinks
from weft.adapters.postgres.registry import PostgresRegistry
from weft.bootstrap.bundles import gather
from weft.bootstrap.languages import compile_source
from weft.kernel.messages import NodeStatusMessage, decode_completion, encode_message
from weft.languages.graph.source import read
from weft.languages.serverless.document import parse
from weft.nodes import resources, tokens
from weft.ports.commands import KINDS
from weft.runtime.queues import STATUS

# Real time does not jump, and a worker reads its secrets from its own surroundings.
_NEEDS_MORE = re.compile(
    r"should take|dies again|the secret|dice|never answers|wait:|delay:|written nowhere"
    r"|range\(5000\)|1750000000|have been published|PT1M|PT30S|--allow|seconds pass|lifecycle"
)


def fits(scenario: Scenario) -> bool:
    """Return whether a scenario can be played in real time."""
    whole = "\n".join(f"{text}\n{block or ''}" for text, block in scenario.steps)
    return _NEEDS_MORE.search(whole) is None


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
            await until(lambda: self._waits(run))
        hub = self.lab.cluster.hub()
        for number, event in enumerate(events):
            head = {"specversion": "1.0", "id": f"{run}-{number}", "source": "test"}
            await hub.publish({**head, **event})

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
    failed: list[str] = []
    fitting = [one for one in scenarios() if fits(one)]
    own = TreeLab(tmp_path)
    async with laboratory(
        rabbitmq_url, redis_url, postgres_url, allowed=KINDS, families=True
    ) as lab:
        services = Services()
        # The one thing that is not real: nobody but the scenario answers calls.
        lab.cluster.http.send = services.send  # type: ignore[method-assign]
        for scenario in fitting:
            services.answers.clear()
            services.requests.clear()
            resources._shelves.clear()  # a scenario knows nothing of those before it
            tokens._shelves.clear()
            stage = ClusterLab(lab, services, SimpleNamespace(now=0), [], set(), own.install)
            try:
                await play(scenario, stage)
            except pytest.skip.Exception:
                continue  # what is missing is said where it runs embedded
            except (AssertionError, IndexError) as problem:
                failed.append(f"{scenario.feature}: {scenario.name}: {problem}")

    own.paths.undo()
    assert [] == failed
    assert len(fitting) > 150
