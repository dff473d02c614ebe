"""Consuming from a real broker: bounds, giving back, endings."""

import asyncio
from contextlib import aclosing

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.topology import Topology
from onward.ports.cluster.bus import BusError

QUEUE = "workflow.execution"


async def fill(bus, count):
    await asyncio.gather(*(bus.publish(QUEUE, b"%d" % n) for n in range(count)))


async def test_no_more_than_prefetch_are_out_at_once(bus):
    await fill(bus, 10)
    async with aclosing(bus.consume(QUEUE, prefetch=3)) as deliveries:
        held = [await anext(deliveries) for _ in range(3)]
        fourth = asyncio.ensure_future(anext(deliveries))
        # A round trip on the same broker: a fourth delivery would be here by now.
        await bus.publish(QUEUE, b"later")

        assert not fourth.done()

        await held[0].ack()
        async with asyncio.timeout(60):
            assert b"3" == (await fourth).body


async def test_what_is_given_back_is_delivered_again(bus):
    await fill(bus, 1)
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
        first = await anext(deliveries)
        await first.give_back()
        again = await anext(deliveries)

    assert (False, True) == (first.redelivered, again.redelivered)


async def test_settling_twice_has_no_effect(bus):
    await fill(bus, 2)
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
        first = await anext(deliveries)
        await first.ack()
        await first.ack()
        await first.give_back()

        assert b"1" == (await anext(deliveries)).body


async def test_acknowledging_out_of_order_acknowledges_just_these(bus, rabbitmq_url):
    await fill(bus, 8)
    async with aclosing(bus.consume(QUEUE, prefetch=8)) as deliveries:
        held = [await anext(deliveries) for _ in range(8)]
        for n in (5, 1, 0, 3):
            await held[n].ack()
        await held[2].give_back()
    await bus.close()

    again = RabbitBus(rabbitmq_url)
    await again.open()
    async with asyncio.timeout(60), aclosing(again.consume(QUEUE, prefetch=8)) as deliveries:
        left = {(await anext(deliveries)).body for _ in range(4)}
        more = asyncio.ensure_future(anext(deliveries))
        await again.publish(QUEUE, b"last")
        left.add((await more).body)
    await again.close()

    assert {b"2", b"4", b"6", b"7", b"last"} == left


async def test_leaving_the_iteration_gives_back_only_what_was_not_handed_out(bus):
    await fill(bus, 3)
    deliveries = bus.consume(QUEUE, prefetch=3)
    async with asyncio.timeout(60):
        mine = await anext(deliveries)
        await deliveries.aclose()
        async with aclosing(bus.consume(QUEUE, prefetch=3)) as others:
            rest = [(await anext(others)).body for _ in range(2)]
            await mine.ack()

    assert (b"0", [b"1", b"2"]) == (mine.body, sorted(rest))


async def test_iteration_ends_when_the_bus_is_closed(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url)
    await bus.open()
    await bus.declare()
    await fill(bus, 1)
    seen = []

    async def read():
        async for delivery in bus.consume(QUEUE, prefetch=5):
            seen.append(delivery.body)
            await delivery.ack()
            first.set()

    first = asyncio.Event()
    reader = asyncio.create_task(read())
    async with asyncio.timeout(60):
        await first.wait()
        await bus.close()
        await reader

    assert [b"0"] == seen


async def test_consuming_from_a_queue_that_does_not_exist_is_an_error(bus):
    with pytest.raises(BusError, match=r"no queue workflow\.nowhere .*declare the topology"):
        await anext(bus.consume("workflow.nowhere", prefetch=1))


async def test_a_consumer_that_the_broker_cancels_consumes_again(
    bus, rabbitmq_server, rabbitmq_url
):
    """
    Deleting a queue cancels its consumers. Here it is there again before they ask: the calls below
    block the event loop, so the cancellation is read after both.
    """
    host = rabbitmq_url.rpartition("/")[2]
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
        await fill(bus, 1)
        await (await anext(deliveries)).ack()
        rabbitmq_server.call("DELETE", f"/queues/{host}/{QUEUE}")
        rabbitmq_server.call("PUT", f"/queues/{host}/{QUEUE}", {"durable": True})
        await bus.publish(QUEUE, b"again")

        assert b"again" == (await anext(deliveries)).body


async def test_a_queue_that_is_deleted_under_its_consumer_is_an_error(
    bus, rabbitmq_server, rabbitmq_url
):
    host = rabbitmq_url.rpartition("/")[2]
    deliveries = bus.consume(QUEUE, prefetch=1)
    await fill(bus, 1)
    await (await anext(deliveries)).ack()
    rabbitmq_server.call("DELETE", f"/queues/{host}/{QUEUE}")

    with pytest.raises(BusError, match="declare the topology"):
        async with asyncio.timeout(60):
            await anext(deliveries)


async def test_quorum_queues_carry_messages_too(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url, topology=Topology("quorum"))
    await bus.open()
    await bus.declare()
    await fill(bus, 3)
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=3)) as deliveries:
        bodies = [(await anext(deliveries)).body for _ in range(3)]
    await bus.close()

    assert [b"0", b"1", b"2"] == bodies
