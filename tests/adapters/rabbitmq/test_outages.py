"""A broker that stops, starts and runs out of memory. It is the module's own."""

import asyncio
from contextlib import aclosing

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.errors import MessageError
from onward.ports.cluster.bus import BusError

QUEUE = "workflow.execution"


@pytest.fixture
async def bus(own_rabbitmq):
    one = RabbitBus(own_rabbitmq.new_host(), publish_timeout_s=30)
    await one.open()
    await one.declare()
    yield one
    await one.close()


async def test_a_restart_of_the_broker_loses_nothing(bus, own_rabbitmq):
    await asyncio.gather(*(bus.publish(QUEUE, b"%d" % n) for n in range(100)))
    seen = set()
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=10)) as deliveries:
        held = await anext(deliveries)
        await asyncio.to_thread(own_rabbitmq.ctl, "stop_app")
        waiting = [asyncio.create_task(bus.publish(QUEUE, b"%d" % n)) for n in range(100, 200)]
        await asyncio.to_thread(own_rabbitmq.ctl, "start_app")
        await asyncio.gather(*waiting)
        await held.ack()
        while len(seen) < 200:
            delivery = await anext(deliveries)
            seen.add(delivery.body)
            await delivery.ack()

    assert {b"%d" % n for n in range(200)} == seen


async def test_an_alarm_of_the_broker_makes_publishers_wait_and_then_say_why(own_rabbitmq):
    url = own_rabbitmq.new_host()
    impatient, patient = (
        RabbitBus(url, publish_timeout_s=0.5),
        RabbitBus(url, publish_timeout_s=120),
    )
    for bus in (impatient, patient):
        await bus.open()
    await patient.declare()
    await asyncio.to_thread(own_rabbitmq.ctl, "set_vm_memory_high_watermark", "0.00001")

    waiting = asyncio.create_task(patient.publish(QUEUE, b"1"))
    with pytest.raises(BusError, match="blocked by the broker: memory or disk alarm"):
        await impatient.publish(QUEUE, b"2")
    still_waiting = not waiting.done()
    await asyncio.to_thread(own_rabbitmq.ctl, "set_vm_memory_high_watermark", "0.9")
    await waiting
    for bus in (impatient, patient):
        await bus.close()

    assert still_waiting


async def test_a_broker_that_takes_less_than_its_version_says_teaches_the_limit(own_rabbitmq):
    """
    The broker closes the channel on a message that is too large; those beside it must not suffer.
    """
    setting = (  # RabbitMQ 4 reads it once, when it starts, and remembers it elsewhere
        "application:set_env(rabbit, max_message_size, 100000),"
        " persistent_term:put(max_message_size, 100000)."
    )
    await asyncio.to_thread(own_rabbitmq.ctl, "eval", setting)
    bus = RabbitBus(own_rabbitmq.new_host())
    await bus.open()
    await bus.declare()
    answers = await asyncio.gather(
        *(bus.publish(QUEUE, b"x" * size) for size in (10, 200_000, 20)), return_exceptions=True
    )
    await bus.close()

    assert [type(None), MessageError, type(None)] == [type(answer) for answer in answers]
    assert "the broker takes 100,000" in str(answers[1])
