"""Releases beside each other on one cluster: additions, later versions, and kept messages."""

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onward.adapters.redis.connection import FORMAT, FORMAT_KEY, open_redis
from onward.errors import StorageError
from onward.kernel.messages import decode_token
from onward.kernel.records import Definition
from onward.runtime.cluster.master import Master
from onward.runtime.queues import COMPLETION, EXECUTION, RETRIES, STATUS
from runtime.cluster.lab import held, idle_laboratory, publish, take, until
from support.documents import TRIGGER, node, transform, workflow

V1 = Path(__file__).parents[2] / "golden" / "v1"
CHAIN = workflow(
    TRIGGER,
    node("each", "split", input_array="$trigger"),
    transform("p", "$item * 2"),
    node("all", "aggregator"),
    "start -> each -> p -> all",
)


class Lines:
    """A log that keeps its lines."""

    def __init__(self):
        self.lines = []

    def write(self, level, message, **fields):
        self.lines.append(message)


class OfTomorrow:
    """The bus of a release that writes a field which today's does not know."""

    def __init__(self, bus):
        self._bus = bus

    def __getattr__(self, name):
        return getattr(self._bus, name)

    async def publish(self, queue, body, **more):
        said = json.loads(body)
        for one in said if isinstance(said, list) else [said]:
            one["a_field_of_tomorrow"] = {"n": 1}
        await self._bus.publish(queue, json.dumps(said).encode(), **more)


@pytest.mark.parametrize("name", ["token-plain", "token-started"])
async def test_a_message_of_version_1_is_run_to_its_end(lab, rabbitmq_url, name):
    body = (V1 / f"{name}.json").read_bytes()
    said = json.loads(body)
    source = (V1 / "definition.json").read_bytes()
    if ref := said.get("definition_ref"):
        await lab.cluster.store.save_definition(Definition(ref, said["workflow_id"], source))
        await lab.cluster._admission().admit(decode_token(body))
    publish(rabbitmq_url, EXECUTION, body)

    ended = await lab.finish(said["execution_id"])

    assert ("completed", "Hello, Ada") == (ended.status, ended.output("greet"))


@asynccontextmanager
async def mixed_fleet(lab, monkeypatch):
    """Run a worker of a release to come beside one of this release."""
    cluster = lab.cluster
    today = cluster.bus
    monkeypatch.setattr(cluster, "bus", OfTomorrow(today))
    worker = cluster.worker()
    monkeypatch.setattr(cluster, "bus", today)
    async with lab.running(worker.run()):
        yield
    await worker.drain(5)


async def test_workers_of_two_releases_run_the_same_runs(lab, monkeypatch):
    async with mixed_fleet(lab, monkeypatch):
        ended = await lab.run_all(CHAIN, [list(range(n, n + 20)) for n in range(5)])

    expected = [[2 * item for item in range(n, n + 20)] for n in range(5)]
    assert expected == [one.output("all") for one in ended]


def newer(name, **fields):
    """Return a kept message as a later version would write it."""
    body = json.loads((V1 / f"{name}.json").read_bytes())
    return json.dumps({**body, "schema_version": 2, **fields}).encode()


async def test_a_token_of_a_later_version_waits_for_a_worker_that_knows_it(idle, rabbitmq_url):
    later = newer("token-plain", signal="tomorrow", execution_id="later")
    worker = idle.cluster.worker()
    async with idle.running(worker.run()):
        publish(rabbitmq_url, EXECUTION, later)

        async def put_off():
            return {RETRIES[0]: 1} == held(rabbitmq_url)

        await until(put_off)
    await worker.drain(5)

    assert [later] == take(rabbitmq_url, RETRIES[0])


class Counting:
    """A bus that counts what is published."""

    def __init__(self, bus):
        self._bus = bus
        self.published = 0

    def __getattr__(self, name):
        return getattr(self._bus, name)

    async def publish(self, queue, body, **more):
        await self._bus.publish(queue, body, **more)
        self.published += 1


@pytest.mark.parametrize(
    ("queue", "name"), [(STATUS, "status-success"), (COMPLETION, "completion-completed")]
)
async def test_news_of_a_later_version_stays_in_its_queue(
    rabbitmq_url, redis_url, postgres_url, queue, name, monkeypatch
):
    monkeypatch.setattr("onward.runtime.cluster.newer_messages.REQUEUE_PAUSE_S", 0.01)
    later, known = newer(name, status="tomorrow"), (V1 / f"{name}.json").read_bytes()
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url) as idle:
        bus, log = Counting(idle.cluster.bus), Lines()
        publish(rabbitmq_url, queue, later, known)
        async with idle.running(Master(bus, idle.folded, log).run()):

            async def went_round():
                folded = idle.folded.statuses + idle.folded.completions
                return bus.published >= 3 and len(folded) == 1

            await until(went_round)

    # Stopped between sending it back and acknowledging it, a master leaves two of them.
    assert {later} == set(take(rabbitmq_url, queue))
    told = "schema_version 2 is of a newer onward, this one knows 1; update this process"
    assert [f"left to a newer process: a message with {told}"] == log.lines


async def test_redis_laid_out_by_another_release_is_refused(lab, redis_url):
    await lab.cluster.redis.set(FORMAT_KEY, FORMAT + 1)

    with pytest.raises(StorageError) as refused:
        await open_redis(redis_url, lab.cluster._log)

    told = str(refused.value)
    assert "holds runs of another onward (format 2, this one writes 1)" in told
    assert 1 == len(told.splitlines())
