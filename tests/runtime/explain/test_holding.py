"""What is said about a token that a worker has: who, since when, and what if that one is silent."""

import re

import asyncpg
import pytest

from onward.adapters.redis.coordinator import RedisCoordinator
from onward.adapters.redis.leases import RedisLeases
from onward.adapters.redis.workers import RedisWorkerRegistry
from onward.bootstrap.host import now_ms
from onward.kernel.messages import decode_token
from onward.kernel.records import RunRecord
from onward.kernel.timestamps import from_iso
from onward.ports.cluster.inspection import Snapshot
from onward.ports.cluster.workers import DeliveryFailure, WorkerInfo
from onward.runtime.explain.explain import Facts, explain
from onward.runtime.explain.token_locator import GraphLayout
from onward.runtime.queues import EXECUTION
from runtime.cluster.lab import idle_laboratory, take, until
from runtime.explain.test_cluster import TIME, explained, plain
from support.documents import TRIGGER, node, transform, workflow

HELD = workflow(TRIGGER, node("p", "probe", gate="shut"), "start -> p")


@pytest.fixture
async def idle(rabbitmq_url, redis_url, postgres_url):
    """A cluster on which nothing runs."""
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url, name="w3") as one:
        yield one


@pytest.fixture
async def quick(rabbitmq_url, redis_url, postgres_url):
    """A cluster on which every node is long at once."""
    places = rabbitmq_url, redis_url, postgres_url
    async with idle_laboratory(*places, name="w3", early_ack_s=0.01) as one:
        yield one


async def claimed_by(lab, rabbitmq_url, worker, seen_ms):
    """Start a run whose first message a worker has taken, of which nothing was heard since."""
    run = await lab.start(HELD)
    (body,) = take(rabbitmq_url, EXECUTION)
    redis = lab.cluster.redis
    await RedisCoordinator(redis, worker=worker).claim(decode_token(body))
    if seen_ms is not None:
        here = WorkerInfo(
            name=worker,
            host="h",
            pid=1,
            version="1",
            slots=1,
            started_ms=seen_ms,
            seen_ms=seen_ms,
        )
        await RedisWorkerRegistry(redis).announce(here)
    return run, body


async def test_a_message_in_the_hands_of_a_worker_is_told_with_its_name_and_since_when(idle):
    worker = idle.cluster.worker()
    before = now_ms()
    async with idle.running(worker.run()):
        run = await idle.start(HELD)
        found = await explained(idle, run, "node p: its message is unacked on worker W since T")
        idle.book.gate("shut").set()
    await worker.drain(5)

    (wait,) = found.waits
    assert ("work", "w3") == (wait.kind, wait.worker)
    assert before - 1_000 <= since(wait) <= now_ms() + 1_000


def since(wait):

    return from_iso(re.search(f"since ({TIME})", wait.text)[1])


async def test_a_worker_that_is_silent_is_told_with_when_it_was_last_heard_of(idle, rabbitmq_url):
    run, _ = await claimed_by(idle, rabbitmq_url, "w9", now_ms() - 60_000)

    found = await explained(
        idle,
        run,
        "node start: its message is unacked on worker W since T, which has not been heard of"
        " since T; the broker then gives it to another",
    )

    assert "w9" == found.waits[0].worker


async def test_a_worker_that_left_is_told(idle, rabbitmq_url):
    run, _ = await claimed_by(idle, rabbitmq_url, "w9", None)

    await explained(
        idle,
        run,
        "node start: its message is unacked on worker W since T, which has stopped; the broker"
        " then gives it to another",
    )


async def test_a_long_node_is_running_on_a_lease_and_is_no_timer(quick):
    worker = quick.cluster.worker()
    async with quick.running(worker.run()):
        run = await quick.start(HELD)
        found = await explained(quick, run, "node p: running on worker W since T, lease until T")
        quick.book.gate("shut").set()
    await worker.drain(5)

    (wait,) = found.waits
    assert ("work", "w3") == (wait.kind, wait.worker)
    assert wait.text.endswith(f"lease until {wait.due_at}")
    assert "it moves as soon as workers get to it" == found.summary


async def test_a_long_node_of_a_silent_worker_says_when_another_runs_it(idle, rabbitmq_url):
    run, body = await claimed_by(idle, rabbitmq_url, "w9", now_ms() - 60_000)
    token, leases = decode_token(body), RedisLeases(idle.cluster.redis)
    terms = {"owner": "w9/x", "body": body}
    await leases.take(token.state_id, token.token_id, until_ms=now_ms() + 60_000, **terms)
    silent = "node start: running on worker W since T, which has not been heard of since T, "

    await explained(idle, run, silent + "lease until T")
    await leases.take(token.state_id, token.token_id, until_ms=now_ms() - 1, **terms)
    await explained(idle, run, silent + "lease until T (overdue: does a scheduler run?)")
    await idle.cluster.scheduler()._timers.claim_due(now_ms(), 30_000, 10)
    await explained(
        idle, run, silent + "but its lease has run out: a scheduler is sending its message again"
    )


async def test_a_message_that_is_tried_again_says_when_and_why(idle, postgres_url):
    """What the first node needs is gone from the store: that is trouble outside the node."""
    run = await idle.start(HELD, "x" * 100_000)
    db = await asyncpg.connect(postgres_url)
    await db.execute("DELETE FROM payload")
    await db.close()
    worker = idle.cluster.worker()
    async with idle.running(worker.run()):

        async def told():
            return "trouble" in [wait.kind for wait in (await idle.cluster.explain(run)).waits]

        await until(told)
        found = await idle.cluster.explain(run)
    await worker.drain(5)

    (wait,) = found.waits
    assert ("trouble", "start") == (wait.kind, wait.node)
    assert "it waits for a message to be tried again" == found.summary
    expected = (
        "node start: its message is tried again at T, after failure 1 of 3 outside the node: "
    )
    assert plain(wait).startswith(expected)


def test_a_message_in_trouble_that_nobody_has_claimed_is_told_once():
    trouble = DeliveryFailure(node="a", item="", failures=2, due_ms=0, reason="no store")
    layout = GraphLayout(entries=("a",))
    run = a_run()
    snapshot = Snapshot(notes={"t": trouble})

    found = explain(
        Facts(run=run, snapshot=snapshot, layout=layout, node_runs=[], quarantined=[], now_ms=0)
    )

    assert ["trouble"] == [wait.kind for wait in found.waits]


def a_run():

    return RunRecord(
        execution_id="r", workflow_id="w", definition_ref="", status="running", started_ms=0
    )


async def test_an_aggregator_that_gives_up_says_when(idle):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", gate="shut"),
        node("all", "aggregator", timeout=600),
        transform("after", "1"),
        "start -> each -> p -> all -> after",
    )
    worker = idle.cluster.worker()
    async with idle.running(worker.run()):
        run = await idle.start(document, [1])
        await explained(
            idle,
            run,
            "split each has 0 of 1 items at all, missing each[0]",
            "all gives up at T if it still waits then",
            "node p at each[0]: its message is unacked on worker W since T",
        )
        idle.book.gate("shut").set()
    await worker.drain(5)
