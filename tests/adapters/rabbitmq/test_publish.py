"""Publishing to a real broker: what is confirmed is there, what is not is said."""

import asyncio
from contextlib import aclosing

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.errors import MessageError
from onward.ports.cluster.bus import BusError

QUEUE = "workflow.execution"


async def take(bus, queue, count, prefetch=1000):
    """Consume and acknowledge `count` messages; return their bodies."""
    bodies = []
    async with asyncio.timeout(60), aclosing(bus.consume(queue, prefetch=prefetch)) as deliveries:
        async for delivery in deliveries:
            bodies.append(delivery.body)
            await delivery.ack()
            if len(bodies) == count:
                break
    return bodies


async def test_a_confirmed_message_is_delivered_as_it_was_published(bus):
    await bus.publish(QUEUE, b'{"n": 1}')

    assert [b'{"n": 1}'] == await take(bus, QUEUE, 1)


async def test_two_thousand_publishes_at_once_share_the_wire(bus):
    bodies = [b"%d" % n for n in range(2000)]

    async with asyncio.timeout(60):
        await asyncio.gather(*(bus.publish(QUEUE, body) for body in bodies))

    assert bodies == await take(bus, QUEUE, 2000)


async def test_a_message_for_a_queue_that_does_not_exist_is_an_error(bus):
    with pytest.raises(BusError, match=r"no queue workflow\.nowhere .*declare the topology"):
        await bus.publish("workflow.nowhere", b"{}")


async def test_an_unroutable_message_does_not_disturb_those_around_it(bus):
    answers = await asyncio.gather(
        *(bus.publish(queue, b"{}") for queue in [QUEUE, "workflow.nowhere", QUEUE] * 20),
        return_exceptions=True,
    )

    assert [type(None), BusError, type(None)] * 20 == [type(answer) for answer in answers]


async def test_a_body_over_the_limit_is_not_sent(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url, max_message_bytes=1000)
    await bus.open()
    await bus.declare()

    await bus.publish(QUEUE, b"x" * 1000)
    with pytest.raises(MessageError, match=r"1,001 bytes, the broker takes 1,000"):
        await bus.publish(QUEUE, b"x" * 1001)
    await bus.close()


async def test_the_limit_follows_the_version_of_the_broker(bus):
    expected = 128 if bus.server_version.startswith("3.") else 16

    assert expected * 1024 * 1024 == bus._publisher.max_message_bytes


async def test_a_full_queue_refuses(bus, rabbitmq_server, rabbitmq_url):
    host = rabbitmq_url.rpartition("/")[2]
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    body = {"durable": True, "arguments": arguments}
    rabbitmq_server.call("PUT", f"/queues/{host}/small", body)

    await bus.publish("small", b"1")
    with pytest.raises(BusError, match="refused"):
        await bus.publish("small", b"2")


async def test_higher_priorities_are_delivered_first_from_a_classic_queue(bus):
    for priority in (0, 5, 9):
        await bus.publish(QUEUE, b"%d" % priority, priority=priority)

    assert [b"9", b"5", b"0"] == await take(bus, QUEUE, 3, prefetch=1)


async def test_a_priority_beyond_the_scale_counts_as_the_nearest(bus):
    for priority in (-7, 5, 1_000_000):
        await bus.publish(QUEUE, b"%d" % priority, priority=priority)

    assert [b"1000000", b"5", b"-7"] == await take(bus, QUEUE, 3, prefetch=1)


async def test_a_closed_bus_takes_nothing(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url)
    await bus.open()
    await bus.close()

    with pytest.raises(BusError, match="closed"):
        await bus.publish(QUEUE, b"{}")


async def test_close_waits_for_confirms(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url)
    await bus.open()
    await bus.declare()
    publishes = [asyncio.create_task(bus.publish(QUEUE, b"{}")) for _ in range(500)]
    await asyncio.sleep(0)

    await bus.close()

    assert [None] * 500 == await asyncio.gather(*publishes)
