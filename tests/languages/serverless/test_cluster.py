"""The same trees on RabbitMQ, Redis and PostgreSQL, in real time."""

import asyncio

import msgspec
import pika
import pytest

from languages.serverless.lab import workflow
from languages.serverless.test_subscriptions import left, taking
from onward.adapters.rabbitmq.bus import RabbitBus
from onward.bootstrap.languages import compile_source, read_definition
from onward.languages.serverless.read.document import parse_definition
from onward.runtime.activity.evaluators import Evaluators
from onward.runtime.queues import EXECUTION
from runtime.cluster.lab import laboratory, publish

SOON = {"milliseconds": 50}


@pytest.fixture
async def lab(rabbitmq_url, redis_url, postgres_url):
    async with laboratory(rabbitmq_url, redis_url, postgres_url) as one:
        yield one


async def run(lab, document, given=None):
    """Run a document to its end on the cluster; return its output, or its error."""
    program = compile_source(parse_definition(document).source)
    started = await lab.cluster.starter().start(program, program.document.source, given)
    return await end_of(lab, started)


async def end_of(lab, execution_id):
    store = lab.cluster.store
    lab.ended.append(execution_id)
    from runtime.cluster.lab import until

    async def over():
        execution = await store.execution(execution_id)
        return execution is not None and execution.completion is not None

    await until(over)
    await until(lab.tidy)
    execution = await store.execution(execution_id)
    completion = msgspec.json.decode(execution.completion)
    if completion["status"] != "completed":
        return completion["error"]["details"]
    return completion["final_context"]["$output"]


async def test_control_flow_and_a_loop(lab):
    document = workflow(
        {"loop": {"for": {"in": "[range(1200)]"}, "do": [{"add": {"set": {"n": "${ .n + 1 }"}}}]}},
        {"check": {"switch": [{"yes": {"when": ".n == 1200", "then": "end"}}]}},
        {"never": {"set": {"n": 0}}},
    )

    assert {"n": 1200} == await run(lab, document, {"n": 0})


async def test_forks_races_waits_and_limits(lab):
    race = {"compete": True, "branches": [{"s": {"wait": "PT1H"}}, {"q": {"set": {"won": True}}}]}
    document = workflow(
        {
            "all": {
                "fork": {
                    "branches": [
                        {"a": {"do": [{"w": {"wait": SOON}}, {"x": {"set": {"n": 1}}}]}},
                        {"b": {"fork": race}},
                        {"c": {"try": [{"d": {"timeout": {"after": SOON}, "do": [
                            {"e": {"wait": "PT1H"}}]}}],
                            "catch": {"do": [{"f": {"set": {"late": "${ $error.status }"}}}]}}},
                    ]
                }
            }
        }
    )  # fmt: skip

    assert [{"n": 1}, {"won": True}, {"late": 408}] == await run(lab, document)


async def test_retries_and_a_fault(lab):
    error = {"type": "https://example.com/e", "status": 503}
    retry = {"delay": SOON, "limit": {"attempt": {"count": 2}}}
    document = workflow(
        {"t": {"try": [{"boom": {"raise": {"error": error}}}], "catch": {"retry": retry}}}
    )

    assert {**error, "instance": "/do/0/t/try/0/boom"} == await run(lab, document)


async def test_a_workflow_that_takes_too_long(lab):
    document = workflow({"w": {"wait": "PT1H"}}, timeout={"after": SOON})

    assert 408 == (await run(lab, document))["status"]


async def test_a_definition_inside_a_message_is_known_for_what_it_is(lab, rabbitmq_url):
    document = workflow({"one": {"set": {"n": "${ .n + 1 }"}}})
    message = {
        "workflow_id": "test_case",
        "execution_id": "by-hand",
        "current_node": "/do/0/one",
        "workflow_definition": document,
        "accumulated_context": {"$input": {"n": 1}},
    }
    publish(rabbitmq_url, EXECUTION, msgspec.json.encode(message))

    assert {"n": 2} == await end_of(lab, "by-hand")


def test_a_definition_inside_a_message_keeps_its_identity():
    document = workflow({"one": {"set": {"n": 1}}})

    definition = read_definition(msgspec.json.encode(document), "other")

    assert "test_case" == definition.workflow_id
    assert definition.ref == compile_source(definition.source).ref


async def test_messages_of_a_queue_are_acknowledged_when_the_run_holds_them(lab, rabbitmq_url):
    with pika.BlockingConnection(pika.URLParameters(rabbitmq_url)) as connection:
        broker = connection.channel()
        broker.queue_declare("pets")
        for number in range(6):
            broker.basic_publish("", "pets", str(number).encode())
        document = workflow(
            {"some": taking(rabbitmq_url, {"until": "length == 2"})},
            {"more": taking(rabbitmq_url, {"amount": 3})},
            {"all": {"set": "${ map(.payload) }"}},
        )

        assert [2, 3, 4] == await run(lab, document)
        assert 1 == await left(broker)


async def test_ten_tasks_and_an_activity_are_one_message(lab, monkeypatch):
    async def reply(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n"
            b'connection: close\r\n\r\n{"n":0}'
        )
        await writer.drain()
        writer.close()

    sent, publish_ = [], RabbitBus.publish

    async def noted(self, queue, body, *, priority=0):
        sent.append(queue)
        await publish_(self, queue, body, priority=priority)

    monkeypatch.setattr(RabbitBus, "publish", noted)
    more = [{f"s{i}": {"set": {"n": "${ .n + 1 }"}}} for i in range(10)]
    async with await asyncio.start_server(reply, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        get = {"call": "http", "with": {"method": "get", "endpoint": f"http://127.0.0.1:{port}/"}}
        output = await run(lab, workflow(*more[:5], {"get": get}, *more[5:]), {"n": 0})

    assert {"n": 5} == output
    assert 1 == sent.count(EXECUTION)


async def test_others_go_on_for_as_long_as_an_expression_takes(lab, monkeypatch):
    """The answer to the long question is held back until another run of the worker has ended."""
    other_ended, asked, answer = asyncio.Event(), [], Evaluators.answer

    async def held_back(self, lengthy):
        asked.append(lengthy.source)
        await other_ended.wait()
        return await answer(self, lengthy)

    monkeypatch.setattr(Evaluators, "answer", held_back)
    hostile = workflow({"bad": {"set": {"n": "${ until(false; .) }"}}})
    stopped = asyncio.create_task(run(lab, hostile))
    while not asked:
        await asyncio.sleep(0.01)
    program = compile_source(parse_definition(workflow({"a": {"set": {"n": 1}}})).source)
    fine = await lab.cluster.starter().start(program, program.document.source, None)
    lab.ended.append(fine)
    while (found := await lab.cluster.store.execution(fine)) is None or found.completion is None:
        await asyncio.sleep(0.05)
    other_ended.set()

    assert 400 == (await stopped)["status"]
    assert ["until(false; .)"] == asked
