"""Messages of tasks over a real RabbitMQ."""

import asyncio
from urllib.parse import urlsplit

import msgspec
import pika
import pytest

from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.serverless.asyncapi import CallAsyncapi
from onward.ports.nodes.node import Tools
from support.harness import ListLog, NoMail, NoNetwork


@pytest.fixture
def broker(rabbitmq_url):
    with pika.BlockingConnection(pika.URLParameters(rabbitmq_url)) as connection:
        channel = connection.channel()
        channel.queue_declare("greetings")
        channel.exchange_declare("news", "direct")
        channel.queue_bind("greetings", "news", "hello")
        yield channel


def document(url, **bindings):
    value = {
        "asyncapi": "2.6.0",
        "servers": {"main": {"url": url, "protocol": "amqp"}},
        "channels": {"greetings": {}, "hello": {"bindings": {"amqp": bindings}}, "nowhere": {}},
    }
    return {"uri": "data:," + msgspec.json.encode(value).decode().replace("%", "%25")}


async def call(after_commit=None, **given):
    more = {} if after_commit is None else {"after_commit": after_commit}
    tools = Tools(http=NoNetwork(), mail=NoMail(), log=ListLog(), idempotency_key="run-1", **more)
    return await msgspec.convert(given, CallAsyncapi).run(tools)


LOOKS = 10
"""What is given back is not there at once: so often the count must be the same."""


async def left(broker, queue="greetings"):
    """Return how many messages a queue has, once nobody holds any."""
    looks = []
    async with asyncio.timeout(30):
        while len(looks) < LOOKS or len(set(looks[-LOOKS:])) > 1:
            found = broker.queue_declare(queue, passive=True).method
            looks += [found.message_count] if found.consumer_count == 0 else []
            await asyncio.sleep(0.02)
    return looks[-1]


async def test_a_message_is_sent_and_taken(broker, rabbitmq_url):
    there = document(rabbitmq_url)
    message = {"payload": {"n": 1}, "headers": {"a": "b"}}

    sent = await call(document=there, channel="greetings", message=message)
    taken = await call(document=there, channel="greetings", subscription={"wait_ms": 30_000})

    assert Succeeded(message) == sent
    headers = {"a": "b", "idempotency-key": "run-1"}
    came = [{"payload": {"n": 1}, "headers": headers}]
    assert Succeeded({"messages": came, "cursor": None}) == taken
    assert 0 == await left(broker)


async def test_what_was_taken_stays_with_the_broker_until_it_is_kept(broker, rabbitmq_url):
    for number in range(3):
        properties = pika.BasicProperties(correlation_id=f"c{number}")
        broker.basic_publish("", "greetings", str(number).encode(), properties)
    there, pledged = document(rabbitmq_url), []

    async def take():
        given = {"most": 2, "wait_ms": 30_000}
        taken = await call(pledged.append, document=there, channel="greetings", subscription=given)
        return [(one["payload"], one["correlationId"]) for one in taken.output["messages"]]

    first = await take()
    pledged.pop()(False)
    gave_back = await left(broker)
    again = await take()
    pledged.pop()(True)

    assert [(0, "c0"), (1, "c1")] == first == again
    assert (3, 1) == (gave_back, await left(broker))


async def test_a_message_goes_to_an_exchange_by_its_key(broker, rabbitmq_url):
    there = document(rabbitmq_url, **{"is": "routingKey", "exchange": {"name": "news"}})

    await call(document=there, channel="hello", message={"payload": "hi"})
    taken = await call(document=there, channel="greetings", subscription={"wait_ms": 30_000})

    assert "hi" == taken.output["messages"][0]["payload"]


async def test_all_that_is_there_is_taken_in_order(broker, rabbitmq_url):
    for number in range(5):
        broker.basic_publish("", "greetings", str(number).encode())
    there = document(rabbitmq_url)

    taken = await call(
        document=there, channel="greetings", subscription={"most": 100, "wait_ms": 30_000}
    )
    rest = await call(document=there, channel="greetings", subscription={"wait_ms": 0})

    assert [0, 1, 2, 3, 4] == [one["payload"] for one in taken.output["messages"]]
    assert [] == rest.output["messages"]


async def test_what_is_taken_by_a_call_that_is_given_up_goes_back(broker, rabbitmq_url):
    waiting = asyncio.create_task(
        call(document=document(rabbitmq_url), channel="greetings", subscription={"wait_ms": 60_000})
    )
    async with asyncio.timeout(30):
        while not broker.queue_declare("greetings", passive=True).method.consumer_count:
            await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.wait([waiting])
    broker.basic_publish("", "greetings", b"1")

    assert 1 == await left(broker)


async def test_a_message_that_no_queue_takes_is_an_error(broker, rabbitmq_url):
    outcome = await call(document=document(rabbitmq_url), channel="nowhere", message={"payload": 1})

    assert isinstance(outcome, Failed)
    assert "no queue takes" in outcome.error.message


async def test_a_broker_that_is_not_there_is_an_error_that_can_be_tried_again(rabbitmq_url):
    gone = urlsplit(rabbitmq_url)._replace(netloc="127.0.0.1:1").geturl()

    outcome = await call(document=document(gone), channel="greetings", message={"payload": 1})

    assert "HTTP_CONNECT" == outcome.error.code


async def test_a_queue_that_is_not_there_is_an_error(rabbitmq_url):
    outcome = await call(
        document=document(rabbitmq_url), channel="greetings", subscription={"wait_ms": 1}
    )

    assert "the broker refused" in outcome.error.message
