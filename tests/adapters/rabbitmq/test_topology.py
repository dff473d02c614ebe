"""The topology: declared twice, declared differently, and written down."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.topology import Topology, check_version, default_message_limit
from onward.ports.cluster.bus import BusError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "topology.md"


def table(topology: Topology) -> str:
    rows = ["| queue | holds | arguments |", "|---|---|---|"]
    for queue in topology.queues():
        arguments = "<br>".join(f"`{name}: {value}`" for name, value in queue.arguments.items())
        rows.append(f"| `{queue.name}` | {queue.holds} | {arguments} |")
    return "\n".join(rows)


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_the_page_shows_the_topology_as_it_is(queue_type):
    assert table(Topology(queue_type)) in PAGE.read_text()


def test_no_work_expires():
    expiring = {
        queue.name
        for queue_type in ("classic", "quorum")
        for queue in Topology(queue_type).queues()
        if "x-message-ttl" in queue.arguments
    }

    assert {f"workflow.execution.retry.{delay}s" for delay in (5, 25, 125)} == expiring


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
async def test_declaring_twice_changes_nothing(rabbitmq_url, rabbitmq_server, queue_type):
    topology = Topology(queue_type)
    bus = RabbitBus(rabbitmq_url, topology=topology)
    await bus.open()
    await bus.declare()
    await bus.declare()
    await bus.close()

    host = rabbitmq_url.rpartition("/")[2]
    listed = rabbitmq_server.call("GET", f"/queues/{host}")
    declared = {queue["name"]: (queue["durable"], queue["arguments"]) for queue in listed}
    assert {queue.name: (True, dict(queue.arguments)) for queue in topology.queues()} == declared


async def test_a_queue_with_other_arguments_is_named_with_the_remedy(
    bus, rabbitmq_server, rabbitmq_url
):
    host = rabbitmq_url.rpartition("/")[2]
    name = "workflow.execution.retry.25s"
    rabbitmq_server.call("DELETE", f"/queues/{host}/{name}")
    arguments = {**dict(Topology().queues()[3].arguments), "x-message-ttl": 9000}
    body = {"durable": True, "arguments": arguments}
    rabbitmq_server.call("PUT", f"/queues/{host}/{name}", body)

    with pytest.raises(BusError) as failed:
        await bus.declare()

    expected = (
        f"RabbitMQ queue {name}: x-message-ttl is '9000', onward wants '25000'; drain it, then "
        f"`rabbitmqctl delete_queue {name}` and start again"
    )
    assert expected == str(failed.value)


async def test_another_queue_type_is_named_with_the_remedy(bus, rabbitmq_url):
    other = RabbitBus(rabbitmq_url, topology=Topology("quorum"))
    await other.open()

    with pytest.raises(BusError, match=r"x-queue-type is 'classic'.*or use the queue type"):
        await other.declare()
    await other.close()


async def test_without_an_argument_the_queue_is_named_too(bus, rabbitmq_server, rabbitmq_url):
    host = rabbitmq_url.rpartition("/")[2]
    rabbitmq_server.call("DELETE", f"/queues/{host}/workflow.execution")
    body = {"durable": True, "arguments": {"x-queue-type": "classic"}}
    rabbitmq_server.call("PUT", f"/queues/{host}/workflow.execution", body)

    with pytest.raises(BusError, match=r"queue workflow\.execution: x-\S+ is none, onward wants '"):
        await bus.declare()


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
async def test_a_message_that_waits_for_its_retry_goes_back_to_work(
    rabbitmq_url, rabbitmq_server, queue_type, monkeypatch
):
    monkeypatch.setattr("onward.adapters.rabbitmq.topology.RETRY_DELAYS_S", (0,))
    bus = RabbitBus(rabbitmq_url, topology=Topology(queue_type))
    await bus.open()
    await bus.declare()
    await bus.publish("workflow.execution.retry.0s", b"once more")

    async with (
        asyncio.timeout(60),
        aclosing(bus.consume("workflow.execution", prefetch=1)) as deliveries,
    ):
        back = await anext(deliveries)
    await bus.close()

    assert b"once more" == back.body


@pytest.mark.parametrize("version", ["3.10.8", "3.13.7", "4.0.1", "4.3.0-rc.1"])
def test_versions_from_3_10_on_are_taken(version):
    check_version(version)


@pytest.mark.parametrize("version", ["3.9.29", "2.8.7"])
def test_older_versions_are_refused(version):
    with pytest.raises(BusError, match=r"too old: onward needs 3\.10 or later"):
        check_version(version)


@pytest.mark.parametrize(
    ("version", "mebibytes"),
    [("3.10.8", 128), ("3.13.7", 128), ("4.0.1", 16), ("4.2.6", 16), ("4.3.0-rc.1", 16)],
)
def test_how_large_a_message_may_be_follows_from_the_version(version, mebibytes):
    assert mebibytes * 1024 * 1024 == default_message_limit(version)


@pytest.mark.parametrize(
    ("queue_type", "refused"),
    [
        ("classic", {"x-delivery-limit", "x-consumer-timeout", "x-dead-letter-strategy"}),
        ("quorum", {"x-max-priority", "x-queue-mode"}),
    ],
)
def test_no_queue_has_an_argument_that_some_version_refuses_for_its_type(queue_type, refused):
    for queue in Topology(queue_type).queues():
        assert set() == refused & set(queue.arguments)
        assert queue_type == queue.arguments["x-queue-type"]


def test_every_quorum_queue_says_how_often_it_delivers():
    """
    Without the argument it is as often as needed on 3.x, and 20 times on 4.x.
    """
    assert all("x-delivery-limit" in queue.arguments for queue in Topology("quorum").queues())


def test_work_that_is_delivered_too_often_is_not_dropped():
    limited = [
        queue for queue in Topology("quorum").queues() if queue.name.startswith("workflow.exec")
    ]

    assert 4 == len(limited)
    assert all("x-dead-letter-exchange" in queue.arguments for queue in limited)
