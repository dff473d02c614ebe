"""Messages of a real broker, taken by runs: none is lost, whatever dies."""

from __future__ import annotations

import asyncio
import json

import pika
import pytest

from languages.serverless.lab import HEAD, output_of, workflow
from languages.serverless.test_killing import Server, ask, killed_and_resumed


@pytest.fixture
def broker(rabbitmq_url):
    with pika.BlockingConnection(pika.URLParameters(rabbitmq_url)) as connection:
        channel = connection.channel()
        channel.queue_declare("pets")
        yield channel


@pytest.fixture
def server():
    one = Server(failures=0)
    yield one
    one.close()


def described(url):
    value = {
        "asyncapi": "3.0.0",
        "servers": {"main": {"host": url.partition("://")[2], "protocol": "amqp"}},
        "channels": {"pets": {"address": "pets"}},
        "operations": {"pets": {"action": "receive", "channel": {"$ref": "#/channels/pets"}}},
    }
    return {"endpoint": "data:," + json.dumps(value).replace("%", "%25")}


def taking(url, consume, **more):
    subscription = {"consume": consume, **more}
    given = {"document": described(url), "operation": "pets", "subscription": subscription}
    return {"call": "asyncapi", "with": given}


LOOKS = 10
"""What is given back is not there at once: so often the count must be the same."""


async def left(broker):
    """Return how many messages are left, once nobody holds any."""
    looks = []
    async with asyncio.timeout(30):
        while len(looks) < LOOKS or len(set(looks[-LOOKS:])) > 1:
            found = broker.queue_declare("pets", passive=True).method
            looks += [found.message_count] if found.consumer_count == 0 else []
            await asyncio.sleep(0.02)
    return looks[-1]


async def test_a_run_takes_what_it_wants_and_leaves_the_rest(lab, broker, rabbitmq_url):
    for number in range(5):
        broker.basic_publish("", "pets", str(number).encode())
    document = workflow({"take": taking(rabbitmq_url, {"until": "length == 3"})})

    ended = await lab.run(document)

    assert [0, 1, 2] == [one["payload"] for one in output_of(ended)]
    assert 2 == await left(broker)


async def test_a_queue_that_stays_empty_costs_pauses_and_no_worker(lab, broker, rabbitmq_url):
    document = workflow({"take": taking(rabbitmq_url, {"for": "PT1S"})})
    began = lab.clock.now

    ended = await lab.run(document)

    assert [] == output_of(ended)
    assert 1_000 == lab.clock.now - began


def test_messages_that_are_being_handled_when_their_process_is_killed(
    tmp_path, broker, rabbitmq_url, server
):
    for number in range(12):
        broker.basic_publish("", "pets", json.dumps({"n": number}).encode())
    enough = "(map(.n) | unique | length) == 12"
    each = {
        "item": "pet",
        "do": [{"tell": ask(f"{server.url}/pet")}],
        "output": {"as": "$pet.payload"},
    }
    document = {
        "document": HEAD,
        "do": [{"take": taking(rabbitmq_url, {"until": enough}, foreach=each)}],
    }
    moments = [lambda n=n: server.asked["/pet"] >= n for n in (2, 6, 9)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert "completed" == result["status"]
    numbers = [one["n"] for one in result["output"]]
    assert list(range(12)) == sorted(set(numbers))
    assert len(numbers) <= 15  # at least once: each kill repeats one message at most
