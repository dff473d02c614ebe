"""The same scenarios on RabbitMQ, Redis and PostgreSQL, all of them.

Those about time are played with a clock that jumps to the next timer when nobody has anything to
do; the others in real time.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from conformance import lifecycle, stand_ins, timetable  # noqa: F401  (their sentences)
from conformance.cluster import SINK, ClusterLab, RealTime
from conformance.crew import Crew
from conformance.jumping_time import JumpingTime
from conformance.scenarios import HEAD, Scenario, play, scenarios
from conformance.traffic import CountedBus, Traffic
from conformance.writings import Commands, Writings
from languages.serverless.lab import TreeLab
from onward.adapters.host.clock import HostClock
from onward.runtime.cluster.master import PATIENCE_S, Master
from onward.runtime.queues import STATUS
from runtime.cluster.lab import Quiet, check_end, empty, idle_laboratory, until
from support.harness import ListLog

_NEEDS_TIME = re.compile(
    r"should take|wait:|delay:|range\(5000\)|1750000000|PT1M|PT30S|lifetime|seconds pass|lifecycle"
)
Open = Callable[[], ClusterLab]


def in_time(scenario: Scenario) -> bool:
    """Return whether a scenario is about time."""
    whole = "\n".join(f"{text}\n{block or ''}" for text, block in scenario.steps)
    return _NEEDS_TIME.search(whole) is not None


@asynccontextmanager
async def cluster(
    places: tuple[str, str, str],
    folder: Path,
    patch: pytest.MonkeyPatch,
    time: JumpingTime | RealTime,
) -> AsyncIterator[Open]:
    """Open a cluster, and give what opens laboratories on it, one after another."""
    patch.setitem(PATIENCE_S, STATUS, 0.01)  # who watches a test has less
    traffic, commands, log = Traffic(), Commands(), ListLog()
    commands.listen(patch)
    own = TreeLab(folder)  # only programs are put there
    own.paths = patch
    more = {"events_sink": SINK, "env_file": folder / "secrets"}
    async with idle_laboratory(*places, **more) as lab:
        lab.cluster._log = log  # type: ignore[assignment]  # as good a log as any
        lab.cluster.bus = CountedBus(lab.cluster.bus, traffic)  # type: ignore[assignment]
        crew = Crew(lab.cluster, traffic)
        ended = lab.cluster.child_runs().ended
        master = Master(lab.cluster.bus, lab.folded, Quiet(), ended=ended)
        scheduler = lab.cluster.scheduler()
        passing = scheduler.run()
        if isinstance(time, JumpingTime):
            passing.close()

            async def send_due() -> int | None:
                await scheduler.turn()
                return await scheduler._timers.next_due()

            time.hands.append(send_due)
            passing = time.run(lambda: crew.busy or traffic.flying > 0)
        writings = Writings(lab.cluster.store, traffic, commands, log)
        async with lab.running(master.run(), passing), crew.at_work():
            yield lambda: ClusterLab(lab, crew, time, writings, patch, own.install)
            await until(lambda: empty(places[0]))
            await until(lab.told)
        assert await lab.tidy(), await lab.keys()
    check_end(places[0], lab)


@pytest.fixture
def places(rabbitmq_url, redis_url, postgres_url):
    return rabbitmq_url, redis_url, postgres_url


@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", range(2))
async def test_every_scenario_passes_on_the_cluster(places, tmp_path, monkeypatch, half):
    some = [scenario for scenario in scenarios() if not in_time(scenario)][half::2]
    async with cluster(places, tmp_path, monkeypatch, RealTime()) as laboratory:
        failed = await _failed(some, laboratory)
    assert [] == failed


@pytest.mark.timeout(900)
async def test_every_scenario_about_time_passes_on_the_cluster(places, tmp_path, monkeypatch):
    time = JumpingTime()
    monkeypatch.setattr(HostClock, "now_ms", lambda _: time.now)
    monkeypatch.setattr(HostClock, "wait", lambda _, event, until_ms: time.wait(event, until_ms))
    some = [scenario for scenario in scenarios() if in_time(scenario)]
    async with cluster(places, tmp_path, monkeypatch, time) as laboratory:
        failed = await _failed(some, laboratory)
    assert [] == failed


async def test_what_a_cluster_writes_is_found_wherever_it_is(places, tmp_path, monkeypatch):
    document = HEAD + "do: [{rest: {wait: PT0.01S}}]"
    async with cluster(places, tmp_path, monkeypatch, RealTime()) as laboratory:
        lab = laboratory()
        await lab.run(document, {"word": "one-of-a-kind"})

        assert {"RabbitMQ", "Redis", "execution"} <= set(await lab.places_of("one-of-a-kind"))
        assert [] == await lab.places_of("none-of-a-kind")


async def _failed(some: list[Scenario], laboratory: Open) -> list[str]:
    """Play scenarios one after the other, and return those that failed, and why."""
    failed: list[str] = []
    for scenario in some:
        try:
            await play(scenario, laboratory())
        except pytest.skip.Exception:
            continue  # what is missing is said where it runs embedded
        except (AssertionError, IndexError) as problem:
            failed.append(f"{scenario.feature}: {scenario.name}: {problem}")
        except Exception as problem:
            problem.add_note(f"{scenario.feature}: {scenario.name}")
            raise
    assert len(some) > 50
    return failed
