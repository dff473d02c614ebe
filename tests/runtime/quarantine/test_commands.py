"""`onward quarantine` as its users meet it."""

import base64
import json

import redis

from onward.runtime.queues import EXECUTION, QUARANTINE, TIMEOUT
from runtime.cluster.lab import held, publish, take


def token(run, **more):
    """Return a message as a worker would get it."""
    fields = {
        "workflow_id": "flow",
        "execution_id": run,
        "current_node": "a",
        "accumulated_context": {},
        "token_id": "t1",
        "publish_id": "p1",
        "parent": "p0",
    }
    return json.dumps({**fields, **more}).encode()


THREE = [(f"run-{n}", f"reason {n}", token(f"run-{n}")) for n in (1, 2, 3)]


def listed(onward):
    """Return the numbers and runs that are listed."""
    found = json.loads(onward("quarantine", "ls", "--json").out)
    return [(one["number"], one["execution_id"]) for one in found]


def end(redis_url, run):
    """Make the coordinator know that a run has ended."""
    with redis.Redis.from_url(redis_url) as client:
        client.hset(f"exec:{{{run}}}:done", "by", "someone")


def test_an_empty_quarantine_is_an_empty_list(onward):
    done = onward("quarantine", "ls", "--json")

    assert (0, []) == (done.code, json.loads(done.out))


def test_the_list_says_what_when_and_why_and_leaves_all_in_place(onward, aside):
    aside(*THREE)

    done = onward("quarantine", "ls")

    assert "number\tsince\trun\tnode\terror" == done.out.splitlines()[0]
    assert "1\t2030-01-01T00:00:00.000Z\trun-1\ta\treason 1" == done.out.splitlines()[1]
    assert [(1, "run-1"), (2, "run-2"), (3, "run-3")] == listed(onward)


def test_quorum_queues_keep_the_order_too(onward, monkeypatch, request, rabbitmq_url):
    monkeypatch.setenv("ONWARD_QUEUE_TYPE", "quorum")
    request.getfixturevalue("aside")(*THREE)

    assert [(1, "run-1"), (2, "run-2"), (3, "run-3")] == listed(onward)
    assert 0 == onward("quarantine", "release", 2).code
    assert [(1, "run-1"), (2, "run-3")] == listed(onward)
    assert ["run-2"] == [json.loads(one)["execution_id"] for one in take(rabbitmq_url, EXECUTION)]


def test_one_message_is_shown_whole(onward, aside):
    aside(*THREE)

    done = onward("quarantine", "show", 2, "--json")

    shown = json.loads(done.out)
    assert ("reason 2", json.loads(THREE[1][2])) == (shown["reason"], shown["message"])


def test_a_message_that_is_no_json_is_shown_in_base64(onward, aside):
    aside(("", "not a NodeExecutionMessage", b"\xff\x00"))

    done = onward("quarantine", "show", 1, "--json")

    assert b"\xff\x00" == base64.b64decode(json.loads(done.out)["base64"])


def test_what_the_broker_put_there_has_no_note_but_is_shown_and_released(
    onward, aside, rabbitmq_url
):
    publish(rabbitmq_url, QUARANTINE, token("run-9"))

    done = onward("quarantine", "ls", "--json")
    assert ["the broker gave it up: it was delivered too often, or found no queue"] == [
        load["reason"] for load in json.loads(done.out)
    ]
    assert 0 == onward("quarantine", "release", 1).code
    assert ["run-9"] == [json.loads(one)["execution_id"] for one in take(rabbitmq_url, EXECUTION)]


def test_a_released_message_goes_to_the_workers_without_its_troubles(onward, aside, rabbitmq_url):
    aside(THREE[0], ("run-2", "went wrong", token("run-2", trouble=3)), THREE[2])

    done = onward("quarantine", "release", 2)

    assert (0, "released 1 message\n") == (done.code, done.err)
    (sent,) = take(rabbitmq_url, EXECUTION)
    assert ("run-2", "p1") == (
        json.loads(sent)["execution_id"],
        json.loads(sent)["publish_id"],
    )
    assert "trouble" not in json.loads(sent)
    assert [(1, "run-1"), (2, "run-3")] == listed(onward)


def test_all_messages_are_released_each_to_its_own_queue(onward, aside, rabbitmq_url):
    aside(THREE[0], ("run-2", "late", token("run-2", signal="timeout")))

    assert 0 == onward("quarantine", "release", "--all").code

    assert {EXECUTION: 1, TIMEOUT: 1} == held(rabbitmq_url)


def test_a_message_of_a_run_that_has_ended_is_released_only_by_force(
    onward, aside, rabbitmq_url, redis_url
):
    aside(*THREE)
    end(redis_url, "run-2")

    refused = onward("quarantine", "release", "--all")

    assert 2 == refused.code
    assert "the run has ended, so the message would be dropped: 2 (run-2)" in refused.err
    assert {QUARANTINE: 3} == held(rabbitmq_url)
    assert [(1, "run-1"), (2, "run-2"), (3, "run-3")] == listed(onward)
    assert 0 == onward("quarantine", "release", 2, "--force").code
    assert {QUARANTINE: 2, EXECUTION: 1} == held(rabbitmq_url)


def test_discarded_messages_are_gone_and_the_others_keep_their_order(onward, aside, rabbitmq_url):
    aside(*THREE)

    done = onward("quarantine", "discard", 1, 3, "--yes")

    assert (0, "discarded 2 messages\n") == (done.code, done.err)
    assert [(1, "run-2")] == listed(onward)
    assert 0 == onward("quarantine", "discard", "--all", "--yes").code
    assert {} == held(rabbitmq_url)


MISTAKES = {
    "show 4": "there is no message 4 in quarantine: it holds 3",
    "release 4 1": "there is no message 4 in quarantine: it holds 3",
    "discard 7 --yes": "there is no message 7 in quarantine: it holds 3",
    "discard 1": "discarded messages are lost: add --yes",
    "release": "give the numbers of messages or --all",
    "release 1 --all": "give the numbers of messages or --all",
    "show 0": "0 is not in the range",
}


def test_a_mistake_is_explained_and_nothing_changes(onward, aside):
    aside(*THREE)

    for words, problem in MISTAKES.items():
        done = onward("quarantine", *words.split())

        assert (words, 2) == (words, done.code)
        assert problem in done.err
    assert [(1, "run-1"), (2, "run-2"), (3, "run-3")] == listed(onward)


def test_without_a_broker_it_says_so_with_code_7(onward):
    done = onward("quarantine", "ls", "--rabbitmq", "amqp://127.0.0.1:1/")

    assert (7, "") == (done.code, done.out)
    assert "RabbitMQ at 127.0.0.1:1 refused the connection" in done.err


def test_explain_on_the_cluster_tells_of_the_quarantine_and_knows_no_other_run(
    onward, aside, redis_url
):
    aside(*THREE)
    end(redis_url, "run-2")

    known, unknown = onward("explain", "run-2"), onward("explain", "run-8")

    assert (0, 5) == (known.code, unknown.code)
    assert "a message is in quarantine since 2030-01-01T00:00:00.000Z: reason 2" in known.out
    assert "Error: there is no run called run-8 on the cluster\n" == unknown.err
    assert [(1, "run-1"), (2, "run-2"), (3, "run-3")] == listed(onward)
