"""Nodes that burn CPU on a cluster: heartbeats and other nodes go on; and a worker that is full."""

import json
import signal

import pytest
import redis as blocking_redis

from onward.bootstrap.cluster import ClusterSettings, open_cluster
from onward.bootstrap.host import now_ms
from onward.bootstrap.telemetry import until_full
from runtime.activity.burning import add_burning
from runtime.cluster.lab import Lab, until
from support.documents import TRIGGER, node, transform, workflow
from support.probe import Book, catalogue_with


@pytest.fixture
async def tight(rabbitmq_url, redis_url, postgres_url):
    """A cluster whose broker ends a connection that says nothing for two seconds."""
    book = Book(now_ms, lambda: None)
    settings = ClusterSettings(
        rabbitmq_url=f"{rabbitmq_url}?heartbeat=1", redis_url=redis_url, postgres_url=postgres_url
    )
    catalogue = add_burning(catalogue_with(book))
    async with open_cluster(settings, catalogue=catalogue) as cluster:
        yield Lab(cluster, book)


@pytest.mark.parametrize("kind", ["burn", "burn_in_thread"])
async def test_a_connection_with_a_small_heartbeat_outlives_a_node_that_burns(tight, kind):
    document = workflow(TRIGGER, node("hot", kind, seconds=4, value=1), "start -> hot")
    other = workflow(TRIGGER, *(transform(f"n{i}", "1") for i in range(5)), chain(5))
    async with tight.processes():
        hot = await tight.start(document)

        async def begun():
            return "hot" in [wait.node for wait in (await tight.cluster.explain(hot)).waits]

        await until(begun)
        run = await tight.start(other)

        async def ended():
            return (await tight.cluster.store.execution(run)).completion is not None

        await until(ended)
        assert (await tight.cluster.store.execution(hot)).completion is None, "it still burns"
        tight.ended.append(run)
        done = await tight.finish(hot)

    assert "completed" == done.status
    assert 1 == done.output("hot")[0]
    assert 0 == tight.cluster.bus.reconnects


def chain(count):
    return " -> ".join(["start", *(f"n{i}" for i in range(count))])


async def test_work_goes_on_while_there_is_room_and_stops_when_there_is_none():
    async def work():
        pass

    async def work_for_ever():
        await until(never)

    async def never():
        return False

    assert None is await until_full(work(), 1)
    assert None is await until_full(work(), None)
    assert await until_full(work_for_ever(), 1) > 1


def test_a_worker_that_is_full_finishes_and_asks_to_be_started_again(fleet, redis_url):
    worker = fleet.start("worker", "--max-memory", "1", "--name", "w1")

    assert 8 == worker.ends()
    told = worker.log.read_text()
    assert "worker: stopped, given back: 0" in told
    assert "more than --max-memory 1: start it again" in told
    with blocking_redis.Redis.from_url(redis_url) as client:
        assert 0 == client.hlen("workers:info"), "it has left"


def test_a_worker_is_on_the_roster_from_its_start_to_its_end(fleet, redis_url):
    worker = fleet.start("worker", "--name", "w1", "--slots", 7)
    worker.says("called w1")
    with blocking_redis.Redis.from_url(redis_url) as client:
        while not (body := client.hget("workers:info", "w1")):
            assert worker.process.poll() is None
        worker.send(signal.SIGTERM)
        assert 0 == worker.ends()
        assert 0 == client.hlen("workers:info")
    about = json.loads(body)
    assert ("w1", 7, worker.process.pid) == (about["name"], about["slots"], about["pid"])
