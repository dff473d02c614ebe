"""Nodes that run for long: acknowledged early, held by a lease, never lost and never doubled."""

import json
import signal
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pika
import pytest
import redis as blocking_redis

from onward.adapters.redis.leases import RedisLeases
from onward.kernel.messages import decode_token
from onward.runtime.queues import EXECUTION
from runtime.cluster.fleet import wait_until
from runtime.cluster.lab import held, idle_laboratory, publish, take, until
from support.documents import TRIGGER, node, transform, workflow

LEASES = "scheduler:leases"
DUE = "scheduler:timers"
LONG = workflow(TRIGGER, node("p", "probe", gate="shut", value=1), "start -> p")


@pytest.fixture
async def quick(rabbitmq_url, redis_url, postgres_url):
    """A cluster on which every node is long at once, and leases are short."""
    places = rabbitmq_url, redis_url, postgres_url
    async with idle_laboratory(*places, early_ack_s=0.05, lease_s=1.5, name="w1") as one:
        yield one


async def ends_of_leases(lab):
    """Return when each lease runs out."""
    return dict(await lab.cluster.redis.zrange(DUE, 0, -1, withscores=True))


async def test_a_long_node_is_on_a_lease_that_moves_on_and_nothing_is_left_of_it(quick):
    async with quick.processes():
        run = await quick.start(LONG)
        seen = set()

        async def moved_twice():
            seen.update((await ends_of_leases(quick)).values())
            return len(seen) >= 3

        await until(moved_twice)
        assert 1 == len(await ends_of_leases(quick)), "one lease, again and again"
        quick.book.gate("shut").set()
        ended = await quick.finish(run)

    assert ("completed", 1) == (ended.status, ended.output("p"))
    assert 1 == len(quick.book.executions)


async def test_the_message_of_a_long_node_is_acknowledged(quick, rabbitmq_url):
    await quick.start(LONG)
    worker = quick.cluster.worker()
    async with quick.running(worker.run()):
        await until(lambda: leased(quick))

    # Had it not been acknowledged, the broker would have it back now that its consumer is gone.
    quick.cluster.bus._consumers.close()
    await quick.cluster.bus._consuming.close()
    assert {} == {name: n for name, n in held(rabbitmq_url).items() if name == EXECUTION}
    assert 1 == len(await ends_of_leases(quick))
    quick.book.gate("shut").set()
    await worker.drain(5)


async def leased(lab):
    return await lab.cluster.redis.hlen(LEASES) == 1


async def test_a_worker_that_stops_hands_a_long_node_over_at_once(
    rabbitmq_url, redis_url, postgres_url
):
    """The lease is an hour: nobody could wait for it."""
    places = rabbitmq_url, redis_url, postgres_url
    async with idle_laboratory(*places, early_ack_s=0.05, lease_s=3_600) as lab:
        run = await lab.start(LONG)
        first = lab.cluster.worker()
        async with lab.running(first.run()):
            await until(lambda: leased(lab))
        assert 1 == await first.drain(0)
        assert {EXECUTION: 1} == {
            name: n for name, n in held(rabbitmq_url).items() if name == EXECUTION
        }
        assert {} == await ends_of_leases(lab)

        lab.book.gate("shut").set()
        async with lab.processes():
            ended = await lab.finish(run)

    assert "completed" == ended.status
    first_key, second_key = [execution.key for execution in lab.book.executions]
    assert first_key == second_key


async def test_a_message_that_comes_again_while_its_lease_is_held_is_left_to_the_lease(
    quick, rabbitmq_url
):
    """Its worker died, or lost its connection, when the broker did not know of the lease yet."""
    run = await quick.start(workflow(TRIGGER, transform("a", "1"), "start -> a"))
    (body,) = take(rabbitmq_url, EXECUTION)
    token = decode_token(body)
    leases = RedisLeases(quick.cluster.redis)
    far = 4_102_444_800_000
    await leases.take(token.state_id, token.token_id, owner="w9/x", until_ms=far, body=body)
    publish(rabbitmq_url, EXECUTION, body)
    delivered_again(rabbitmq_url)

    async with quick.processes():
        await until(lambda: empty(rabbitmq_url))
        assert [] == await quick.cluster.store.node_runs(run)
        assert await leases.extend(token.state_id, token.token_id, owner="w9/x", until_ms=1)
        ended = await quick.finish(run)

    assert ("completed", 1) == (ended.status, ended.output("a"))


def delivered_again(url):
    """Deliver the one message of the queue to somebody who goes away without a word."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    got, _, _ = connection.channel().basic_get(EXECUTION)
    connection.close()
    assert got is not None


async def empty(url):
    return EXECUTION not in held(url)


async def test_only_the_owner_of_a_lease_can_move_it_or_give_it_up(idle):
    leases = RedisLeases(idle.cluster.redis)
    far = 4_102_444_800_000
    await leases.take("run", "t", owner="old", until_ms=far, body=b"x")
    await leases.take("run", "t", owner="new", until_ms=far, body=b"x")

    await leases.end("run", "t", owner="old")

    assert not await leases.extend("run", "t", owner="old", until_ms=far)
    assert await leases.is_held("run", "t")
    assert await leases.extend("run", "t", owner="new", until_ms=far)
    await leases.end("run", "t", owner="new")
    assert set() == await idle.keys()


async def test_a_lease_that_a_scheduler_has_taken_up_is_nobodys_and_can_be_taken_anew(idle):
    leases, timers = RedisLeases(idle.cluster.redis), idle.cluster.scheduler()._timers
    await leases.take("run", "t", owner="old", until_ms=1, body=b"x")
    (due,) = await timers.claim_due(2, 30_000, 10)

    assert not await leases.is_held("run", "t")
    assert not await leases.extend("run", "t", owner="old", until_ms=10)
    await leases.take("run", "t", owner="new", until_ms=10, body=b"x")
    await timers.confirm([due])  # by the slow scheduler: the lease is another worker's by now
    assert await leases.extend("run", "t", owner="new", until_ms=20)
    await timers.cancel_all("run")
    assert set() == await idle.keys()


async def test_long_nodes_keep_their_slots(rabbitmq_url, redis_url, postgres_url):
    """Acknowledging a long node must not let the worker take ever more of them."""
    places = rabbitmq_url, redis_url, postgres_url
    async with idle_laboratory(*places, early_ack_s=0.05, slots=1) as lab, lab.processes():
        runs = [await lab.start(LONG) for _ in range(2)]
        await until(lambda: leased(lab))

        async def one_waits():
            return held(rabbitmq_url).get(EXECUTION) == 1

        await until(one_waits)
        assert (1, 1) == (lab.book.parked, len(lab.book.executions))
        lab.book.gate("shut").set()
        lab.ended += runs
        ended = [await lab.finish(run) for run in runs]

    assert ["completed"] * 2 == [one.status for one in ended]
    assert 1 == lab.book.peak


async def test_the_end_of_a_run_stops_its_long_nodes(quick):
    document = workflow(
        TRIGGER,
        node("p", "probe", gate="shut"),
        node("q", "probe", gate="go", fail_first=1),
        "start -> p",
        "start -> q",
    )
    async with quick.processes():
        run = await quick.start(document)

        async def both():
            return await quick.cluster.redis.hlen(LEASES) == 2

        await until(both)
        quick.book.gate("go").set()
        ended = await quick.finish(run)
        await quick.book.until(lambda: quick.book.cancelled == 1)

    assert "halted" == ended.status


# -- real processes ------------------------------------------------------------------------------


class Slow:
    """A service whose first answer waits; it notes the idempotency key of each request."""

    def __init__(self):
        self.keys = []
        self.go = threading.Event()
        slow = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                slow.keys.append(self.headers["Idempotency-Key"])
                if len(slow.keys) == 1:
                    slow.go.wait(60)
                body = json.dumps(len(slow.keys)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

            def handle(self):
                with suppress(OSError):  # whoever asked is dead
                    super().handle()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.go.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def slow():
    one = Slow()
    yield one
    one.close()


TERMS = ("--early-ack", "0.2", "--lease", "1")


def asked(fleet, slow):
    """Start a run that asks the slow service, on worker `first`, until its node is on a lease."""
    document = workflow(TRIGGER, node("ask", "http", url=slow.url), "start -> ask")
    file = fleet.folder / "long.json"
    file.write_text(json.dumps(document))
    for one in (fleet.start("master"), fleet.start("scheduler")):
        one.says("ready")
    # A broker soon notices that this one is frozen, and gives what it sent there to another.
    broker = f"{fleet.places['ONWARD_RABBITMQ_URL']}?heartbeat=2"
    first = fleet.start("worker", "--name", "first", *TERMS, ONWARD_RABBITMQ_URL=broker)
    first.says("called first")
    submit = fleet.start("submit", file, "--id", "long", "--wait", "--timeout", 50, "--json")
    wait_until(lambda: slow.keys)
    return first, submit


def leases_in(redis_url):
    with blocking_redis.Redis.from_url(redis_url) as client:
        return client.hlen(LEASES)


def output_of(submit):
    return json.loads(submit.log.with_suffix(".out").read_text())


def test_when_a_worker_is_killed_its_long_node_is_run_again_with_the_same_key(
    fleet, slow, redis_url
):
    first, submit = asked(fleet, slow)
    wait_until(lambda: leases_in(redis_url) == 1)
    first.send(signal.SIGKILL)
    first.ends()
    fleet.start("worker", *TERMS)

    assert 0 == submit.ends()
    assert "completed" == output_of(submit)["status"]
    assert 2 == len(slow.keys)
    assert 1 == len(set(slow.keys))
    wait_until(lambda: leases_in(redis_url) == 0)


@pytest.mark.parametrize("answered", [False, True], ids=["still at work", "with an answer"])
def test_a_worker_that_was_frozen_past_its_lease_changes_nothing(fleet, slow, redis_url, answered):
    first, submit = asked(fleet, slow)
    wait_until(lambda: leases_in(redis_url) == 1)
    first.send(signal.SIGSTOP)
    second = fleet.start("worker", *TERMS)
    assert 0 == submit.ends()
    result = output_of(submit)
    if answered:
        slow.go.set()
    first.send(signal.SIGCONT)

    first.send(signal.SIGTERM)
    assert 0 == first.ends()
    second.send(signal.SIGTERM)
    assert 0 == second.ends()
    assert ("completed", 2) == (result["status"], result["context"]["$ask"]["body"])
    assert 2 == len(slow.keys)
    again = fleet.start("explain", "long", "--json")
    assert 0 == again.ends()
    assert "completed" == output_of(again)["status"]
    assert ["ask", "start"] == sorted(one["node"] for one in output_of(again)["recent"])
