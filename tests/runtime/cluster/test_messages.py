"""What anyone may put into the queues: plain messages that run, and poison that does no harm."""

import base64
import json

import pytest

from onward.kernel.messages import decode_completion
from onward.runtime.queues import COMPLETION, EXECUTION, QUARANTINE, STATUS
from runtime.cluster.lab import held, publish, take, until
from support.documents import TRIGGER, node, transform, workflow

GREETING = workflow(TRIGGER, transform("greet", '"Hello, " + $trigger.name'), "start -> greet")
ROWS = workflow(
    TRIGGER,
    node("each", "split", input_array="$trigger"),
    transform("p", "$item * 2"),
    node("all", "aggregator"),
    "start -> each -> p -> all",
)


def plain(run, **fields):
    """Return a NodeExecutionMessage as RFC 001 has it, with nothing of ours."""
    message = {
        "workflow_id": "flow",
        "execution_id": run,
        "current_node": "start",
        "workflow_definition": GREETING,
        "accumulated_context": {"$trigger": {"name": "Ada"}},
    }
    return json.dumps({**message, **fields}).encode()


@pytest.mark.parametrize(
    ("document", "given", "last", "expected"),
    [(GREETING, {"name": "Ada"}, "greet", "Hello, Ada"), (ROWS, [1, 2, 3], "all", [2, 4, 6])],
    ids=["chain", "split"],
)
async def test_a_plain_message_runs_to_one_completion(
    lab, rabbitmq_url, document, given, last, expected
):
    context = {"$trigger": given}
    message = plain("plain_1", workflow_definition=document, accumulated_context=context)
    publish(rabbitmq_url, EXECUTION, message)

    ended = await lab.finish("plain_1")

    assert ("completed", expected) == (ended.status, ended.output(last))


async def test_a_bare_client_finds_the_completion_in_its_queue(idle, rabbitmq_url):
    """
    Nobody folds the history here: the completion stays in its queue for whoever wants it.
    """
    worker = idle.cluster.worker()
    async with idle.running(worker.run()):
        publish(rabbitmq_url, EXECUTION, plain("plain_2"))

        async def completed():
            return COMPLETION in held(rabbitmq_url)

        await until(completed)
    await worker.drain(5)

    (message,) = map(decode_completion, take(rabbitmq_url, COMPLETION))
    assert ("plain_2", "completed") == (message.execution_id, message.status)
    assert b'"Hello, Ada"' == bytes(message.final_context["$greet"])


async def test_the_same_plain_message_twice_is_one_run(lab, rabbitmq_url):
    publish(rabbitmq_url, EXECUTION, plain("plain_3"), plain("plain_3"))

    ended = await lab.finish("plain_3")

    assert ("completed", 1) == (ended.status, ended.visits("greet"))


NAMELESS = {
    "empty": b"",
    "text": b"not json",
    "binary": b"\xff\xfe\x00",
    "array": b"[]",
    "object": b"{}",
    "wrong type": b'{"workflow_id": 5}',
    "deep": b"[" * 100_000,
    "bad name": plain("no such name!"),
    "surrogate": b'{"workflow_id": "\\ud800", "execution_id": "x", "current_node": "start"}',
}


async def test_what_is_no_message_is_quarantined_and_the_worker_goes_on(lab, rabbitmq_url):
    publish(rabbitmq_url, EXECUTION, *NAMELESS.values())

    ended = await lab.run(GREETING, {"name": "Ada"})

    async def all_there():
        return len(NAMELESS) == held(rabbitmq_url).get(QUARANTINE)

    await until(all_there)
    kept = [json.loads(body) for body in take(rabbitmq_url, QUARANTINE)]
    assert "completed" == ended.status
    assert sorted(NAMELESS.values()) == sorted(base64.b64decode(one["body"]) for one in kept)
    assert all(one["reason"] for one in kept)


NAMED = {
    "a context that is a list": ({"accumulated_context": []}, "accumulated_context"),
    "a signal that does not exist": ({"signal": "dance"}, "dance"),
    "too deep": ({"accumulated_context": {"$a": json.loads("[" * 600 + "]" * 600)}}, "nested"),
    "no workflow": ({"workflow_id": None}, "workflow_id"),
    "unknown node": ({"current_node": "ghost"}, "ghost"),
    "no definition": ({"workflow_definition": None}, "workflow_definition"),
    "a definition that is a list": ({"workflow_definition": []}, "workflow_definition"),
    "a definition without nodes": ({"workflow_definition": {}}, "workflow_definition"),
    "an unknown type": (
        {"workflow_definition": workflow(TRIGGER, node("a", "htpp"), "start -> a")},
        "htpp",
    ),
    "an unknown reference": ({"definition_ref": "f" * 64}, "reference"),
}


@pytest.mark.parametrize(("fields", "says"), NAMED.values(), ids=NAMED)
async def test_a_message_that_can_never_run_ends_its_run_with_the_reason(
    lab, rabbitmq_url, fields, says
):
    body = plain("poison_1", **fields)
    publish(rabbitmq_url, EXECUTION, body)

    ended = await lab.finish("poison_1")
    good = await lab.run(GREETING, {"name": "Ada"})

    (kept,) = map(json.loads, take(rabbitmq_url, QUARANTINE))
    assert ("failed", "QUARANTINED") == (ended.status, ended.message.error.code)
    assert says in ended.message.error.message
    assert ("poison_1", body) == (kept["execution_id"], base64.b64decode(kept["body"]))
    assert "completed" == good.status


BAD_NEWS = [
    b"",
    b"nonsense",
    b"[1]",
    b'{"workflow_id": "w", "execution_id": "x", "node_id": "n", "status": "success",'
    b' "executed_at": "yesterday", "duration_ms": 1}',
    b'{"workflow_id": "w", "execution_id": "x", "status": "completed", "final_context": {},'
    b' "completed_at": "yesterday", "total_duration_ms": 1}',
]


@pytest.mark.parametrize("queue", [STATUS, COMPLETION])
async def test_news_that_cannot_be_read_does_not_stop_the_master(lab, rabbitmq_url, queue):
    publish(rabbitmq_url, queue, *BAD_NEWS)

    ended = await lab.run(GREETING, {"name": "Ada"})

    assert "completed" == ended.status
