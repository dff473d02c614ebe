"""The same hour with everything real but the time: what is counted are runs and what they did."""

import asyncio
from collections import Counter
from random import Random

import pytest

from onward.adapters.host.clock import HostClock
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.cluster import Cluster, ClusterSettings, open_cluster
from onward.bootstrap.cluster_backend import backend_on
from onward.kernel.json import decode
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_queries import RunQuery, VisitQuery
from onward.runtime.cluster.scheduler import Scheduler
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.workflows.service import WorkflowService
from runtime.triggers.hour import BACK, FORTH, HOUR, due_times, schedules
from runtime.triggers.world import Deadly, KilledError, Lines, schedule_from

PATIENCE_S = 120
WAIT_S = 50
SWEEP_MS = 30_000
INTERVALS = {"odd": 47_000}
DOCUMENT = {
    "id": "wf",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {"id": "pause", "type": "wait", "parameters": {"amount": WAIT_S}},
        {
            "id": "tell",
            "type": "transform",
            "parameters": {"expression": "[$trigger.trigger_id, $trigger.due_at]"},
        },
    ],
    "edges": [
        {"id": "e1", "src": "start", "dst": "pause"},
        {"id": "e2", "src": "pause", "dst": "tell"},
    ],
}


class VirtualTime:
    """The clock of every process in this test; it stands still until it is moved."""

    def __init__(self, now_ms):
        self.now = now_ms

    async def wait(self, event, until_ms):
        while not event.is_set() and (until_ms is None or self.now < until_ms):
            await asyncio.sleep(0.01)


class Machine:
    """A master and a scheduler on connections that may be the last thing they use."""

    def __init__(self, cluster, dice, chance):
        def deadly(port):
            return Deadly(port, dice, chance)

        dying = Cluster(
            cluster.settings,
            deadly(cluster.bus),
            cluster.redis,
            deadly(cluster.store),
            cluster.http,
            builtin,
        )
        backend = backend_on(dying)
        backend.triggers = deadly(backend.triggers)
        self._clock = TriggerClock(backend, Lines())
        self._reconciler = dying.reconciler()
        self._scheduler = Scheduler(deadly(dying.scheduler()._timers), dying.bus, HostClock())
        self._swept_ms = HostClock().now_ms()

    async def master(self):
        await self._clock.turn()
        await self.look_after()

    async def look_after(self):
        if HostClock().now_ms() >= self._swept_ms + SWEEP_MS:
            self._swept_ms = HostClock().now_ms()
            await self._reconciler.sweep()

    async def scheduler(self):
        await self._scheduler.turn()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("change", [BACK, FORTH], ids=["back", "forth"])
async def test_each_time_makes_one_run_that_does_its_work_once(
    rabbitmq_url, redis_url, postgres_url, monkeypatch, change
):
    begin, named = change
    time, dice = VirtualTime(begin), Random(3)
    monkeypatch.setattr(HostClock, "now_ms", lambda _: time.now)
    monkeypatch.setattr(HostClock, "wait", time.wait)
    settings = ClusterSettings(
        rabbitmq_url=rabbitmq_url, redis_url=redis_url, postgres_url=postgres_url
    )
    async with open_cluster(settings) as cluster:
        backend = backend_on(cluster)
        await _publish(backend, begin)
        worker = cluster.worker()
        tasks = [asyncio.create_task(one) for one in (worker.run(), cluster.master().run())]
        try:
            killed = await _live(cluster, time, begin + HOUR, dice)
            runs = await _all_ended(cluster, backend, time)
            told = await _all_told(backend, runs)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            await worker.drain(5)

    expected = {
        (name, to_iso(time_))
        for name, times in due_times(begin, named, INTERVALS).items()
        for time_ in times
    }
    assert [asyncio.CancelledError] * 2 == [type(end) for end in ends]
    assert killed["master"] > 3
    assert killed["scheduler"] > 1
    assert {"completed"} == {run.status for run in runs}
    assert sorted(expected) == sorted(one for one in told if one[1] <= to_iso(begin + HOUR))
    assert len(runs) == len(told) == len(set(told))


async def _publish(backend, now_ms):
    """Publish the workflow, and add every schedule."""
    publishing = WorkflowService(backend)
    await publishing.create(await publishing.read(DOCUMENT))
    for name, schedule in schedules(INTERVALS).items():
        assert await backend.triggers.save(schedule_from(name, schedule, now_ms))


async def _live(cluster, time, until_ms, dice):
    """Let two masters and two schedulers live until a time; return how often each was killed."""
    machines, dead_until = [None, None], [0, 0]
    killed = Counter()
    while time.now < until_ms:
        time.now = min(until_ms, time.now + dice.randrange(1_000, 9_000))
        for place in (0, 1):
            if machines[place] is None and time.now >= dead_until[place]:
                machines[place] = Machine(cluster, dice, 0.002)
        alive = [place for place in (0, 1) if machines[place] is not None]
        for part in ("master", "scheduler"):
            turns = [getattr(machines[place], part)() for place in alive]
            results = await asyncio.gather(*turns, return_exceptions=True)
            for place, done in zip(alive, results, strict=True):
                if _is_killed(done):
                    killed[part] += 1
                    machines[place] = None
                    dead_until[place] = time.now + dice.randrange(90_000)
                elif isinstance(done, BaseException):
                    raise done
            alive = [place for place in alive if machines[place] is not None]
    return killed


def _is_killed(done):
    if isinstance(done, BaseExceptionGroup):  # a scheduler sends several batches at once
        return all(_is_killed(exception) for exception in done.exceptions)
    return isinstance(done, KilledError)


async def _all_ended(cluster, backend, time):
    """Let time pass until every run has ended, whoever has to begin it again; return them."""
    last = Machine(cluster, Random(0), 0.0)
    for _ in range(3):  # what was left to start is started by whoever comes
        time.now += 6_000
        await last.master()
    until_s = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        time.now += 5_000
        await last.look_after()
        await last.scheduler()
        runs = await backend.archive.runs(RunQuery(limit=10_000))
        going = [run.execution_id for run in runs if run.ended_ms is None]
        if not going:
            return runs
        if asyncio.get_running_loop().time() > until_s:
            pytest.fail(f"{len(going)} runs go on: {await cluster.explain(going[0])}")
        await asyncio.sleep(0.02)


async def _all_told(backend, runs):
    """Return what all runs say, once the last of them has: statuses may be later than an end."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            told = [one for run in runs for one in await _told(backend, run)]
            if len(told) >= len(runs):
                return told
            await asyncio.sleep(0.1)


async def _told(backend, run):
    """Return what a run says it was started for, once for each time that it did."""
    query = VisitQuery(execution_id=run.execution_id, node_id="tell", limit=10)
    return [tuple(decode(visit.run.output)) for visit in await backend.archive.visits(query)]
