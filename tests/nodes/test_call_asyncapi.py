"""Messages of tasks over a real RabbitMQ."""

import asyncio
from urllib.parse import urlsplit

import msgspec
import pika
import pytest

from support.harness import ListLog, NoMail, NoNetwork
from weft.kernel.outcome import Failed, Succeeded
from weft.nodes.call_asyncapi import CallAsyncapi
from weft.ports.node import Tools


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


async def call(**given):
    tools = Tools(http=NoNetwork(), mail=NoMail(), log=ListLog(), idempotency_key="run-1")
    return await msgspec.convert(given, CallAsyncapi).run(tools)


async def test_a_message_is_sent_and_taken(broker, rabbitmq_url):
    there = document(rabbitmq_url)
    message = {"payload": {"n": 1}, "headers": {"a": "b"}}

    sent = await call(document=there, channel="greetings", message=message)
    taken = await call(document=there, channel="greetings", subscription={"amount": 1})

    assert Succeeded(message) == sent
    headers = {"a": "b", "idempotency-key": "run-1"}
    assert Succeeded([{"payload": {"n": 1}, "headers": headers}]) == taken
    assert 0 == broker.queue_declare("greetings", passive=True).method.message_count


async def test_a_message_goes_to_an_exchange_by_its_key(broker, rabbitmq_url):
    there = document(rabbitmq_url, **{"is": "routingKey", "exchange": {"name": "news"}})

    await call(document=there, channel="hello", message={"payload": "hi"})
    taken = await call(document=there, channel="greetings", subscription={"amount": 1})

    assert "hi" == taken.output[0]["payload"]


async def test_messages_are_taken_in_order_until_time_is_up(broker, rabbitmq_url):
    for number in range(3):
        broker.basic_publish("", "greetings", str(number).encode())

    taken = await call(
        document=document(rabbitmq_url), channel="greetings", subscription={"for_ms": 300}
    )

    assert [0, 1, 2] == [one["payload"] for one in taken.output]


async def test_what_is_taken_by_a_call_that_is_given_up_goes_back(broker, rabbitmq_url):
    broker.basic_publish("", "greetings", b"1")
    waiting = asyncio.create_task(
        call(document=document(rabbitmq_url), channel="greetings", subscription={"amount": 2})
    )
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])

    again = await call(
        document=document(rabbitmq_url), channel="greetings", subscription={"amount": 1}
    )

    assert [{"payload": 1, "headers": {}}] == again.output


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
        document=document(rabbitmq_url), channel="greetings", subscription={"amount": 1}
    )

    assert "the broker refused" in outcome.error.message
