"""The same scenarios on RabbitMQ, Redis and PostgreSQL: all that need no clock and no secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import msgspec

from conformance.scenarios import Scenario, play, scenarios
from distributed.lab import Lab, laboratory, until
from serverless.lab import Services
from support.harness import Ended
from weft.bootstrap.languages import compile_source
from weft.kernel.messages import NodeStatusMessage, decode_completion, encode_message
from weft.languages.serverless.document import parse
from weft.runtime.queues import STATUS

# Real time does not jump, and a worker reads its secrets from its own surroundings.
_NEEDS_MORE = re.compile(
    r"should take|dies again|the secret|dice|never answers|wait:|delay:|written nowhere"
    r"|range\(5000\)|1750000000"
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

    async def run(self, document: str, given: Any = None) -> Ended:
        """Run a document to its end."""
        program = compile_source(parse(document).source)
        run = await self.lab.cluster.starter().start(program, program.document.source, given)
        self.lab.ended.append(run)
        store = self.lab.cluster.store

        async def over() -> bool:
            execution = await store.execution(run)
            return execution is not None and execution.completion is not None

        await until(over)
        await until(self.lab.tidy)
        await self._hear_all(f"after-{run}")
        execution = await store.execution(run)
        assert execution is not None
        message = decode_completion(execution.completion or b"")
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        news = [one for one in self.lab.folded.statuses if one.execution_id == run]
        history = tuple(await store.node_runs(run))
        return Ended(run, message, context, tuple(news), history)

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


async def test_every_scenario_that_fits_passes_on_the_cluster(
    rabbitmq_url, redis_url, postgres_url
):
    failed: list[str] = []
    fitting = [one for one in scenarios() if fits(one)]
    async with laboratory(rabbitmq_url, redis_url, postgres_url) as lab:
        services = Services()
        # The one thing that is not real: nobody but the scenario answers calls.
        lab.cluster._http.send = services.send  # type: ignore[method-assign]
        for scenario in fitting:
            services.answers.clear()
            services.requests.clear()
            stage = ClusterLab(lab, services, SimpleNamespace(now=0))
            try:
                await play(scenario, stage)
            except AssertionError as problem:
                failed.append(f"{scenario.feature}: {scenario.name}: {problem}")

    assert [] == failed
    assert len(fitting) > 150
