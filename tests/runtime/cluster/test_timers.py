"""Waits, retries and time limits: what the scheduler wakes through Redis and RabbitMQ."""

import base64
import json

from onward.adapters.redis.timers import RedisTimers
from onward.runtime.queues import QUARANTINE
from runtime.cluster.lab import held, take, until
from support.documents import TRIGGER, node, transform, workflow


async def test_a_wait_before_a_merge_is_waited_for(lab):
    document = workflow(
        TRIGGER,
        node("pause", "wait", amount=0.3),
        transform("quick", "1"),
        node("join", "merge"),
        "start -> pause -> join",
        "start -> quick -> join",
    )

    ended = await lab.run(document)

    assert ("completed", ["resumed_at"]) == (ended.status, list(ended.output("join")[0]))
    assert 1 == ended.output("join")[1]
    assert 300 <= ended.message.total_duration_ms < 5_000


async def test_a_wait_as_the_last_node_ends_the_run_when_it_is_over(lab):
    document = workflow(TRIGGER, node("pause", "wait", amount=0.2), "start -> pause")

    ended = await lab.run(document)

    assert ("completed", ("pause",)) == (ended.status, ended.message.output_nodes)
    assert 200 <= ended.message.total_duration_ms < 5_000


async def test_a_merge_that_waits_too_long_fails_the_run(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=1, unit="hours"),
        node("join", "merge", timeout=0.2),
        node("after", "probe", tag="after"),
        "start -> quick -> join",
        "start -> pause -> join",
        "join -> after",
    )

    ended = await lab.run(document)

    assert ("failed", "MERGE_TIMEOUT") == (ended.status, ended.message.error.code)
    assert "1 of 2 branches" in ended.message.error.message
    assert [] == lab.book.tags()


async def test_a_node_is_tried_again_until_it_succeeds(lab):
    retry = {"max_attempts": 3, "delay": 0.1, "backoff": "constant"}
    document = workflow(
        TRIGGER,
        node("p", "probe", fail_first=2, value="at last", retry=retry),
        transform("after", "$p"),
        "start -> p -> after",
    )

    ended = await lab.run(document)

    assert ("completed", "at last") == (ended.status, ended.output("after"))
    assert [1, 2, 3] == [execution.attempt for execution in lab.book.executions]
    assert 1 == len({execution.key for execution in lab.book.executions})


async def test_a_short_wait_behind_a_long_one_is_not_blocked_by_it(lab):
    document = workflow(
        TRIGGER,
        node("long", "wait", amount=0.6),
        node("late", "probe", tag="late"),
        node("short", "wait", amount=0.1),
        node("soon", "probe", tag="soon"),
        "start -> long -> late",
        "start -> short -> soon",
    )

    await lab.run(document)

    assert ["soon", "late"] == lab.book.tags()


async def test_a_timer_that_cannot_be_read_is_quarantined_and_holds_up_no_other(lab, rabbitmq_url):
    timers = RedisTimers(lab.cluster.redis)
    await timers.set("ghost", "t", 0, b"garbage")
    document = workflow(TRIGGER, node("pause", "wait", amount=0.1), "start -> pause")
    run = await lab.start(document)

    async def quarantined():
        return QUARANTINE in held(rabbitmq_url)

    await until(quarantined)
    (kept,) = map(json.loads, take(rabbitmq_url, QUARANTINE))
    await timers.cancel_all("ghost")
    ended = await lab.finish(run)

    assert b"garbage" == base64.b64decode(kept["body"])
    assert "completed" == ended.status
