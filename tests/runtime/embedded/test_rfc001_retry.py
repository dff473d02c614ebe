"""A failed node is tried again as its policy says, in its own time, under the same key."""

from itertools import pairwise

import pytest

from support.documents import TRIGGER, node, transform, workflow
from support.jumping import START_MS

FOUR_TIMES = {"max_attempts": 4}


def retried(**policy):
    return workflow(
        TRIGGER,
        node("p", "probe", fail_first=99, retry={"max_attempts": 5, **policy}),
        "start -> p",
    )


def pauses(lab):
    times = [execution.at_ms for execution in lab.book.executions]
    return [after - before for before, after in pairwise(times)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"delay": 2, "backoff": "constant"}, [2000, 2000, 2000, 2000]),
        ({"delay": 2, "backoff": "linear"}, [2000, 4000, 6000, 8000]),
        ({"delay": 2}, [2000, 4000, 8000, 16000]),
        ({"delay": 2, "max_delay": 5}, [2000, 4000, 5000, 5000]),
        ({"delay": 2, "backoff": "constant", "jitter": 0.5}, [1500, 1500, 1500, 1500]),
        ({"delay": 0.001, "backoff": "constant", "jitter": 1}, [0, 0, 0, 0]),
    ],
    ids=["constant", "linear", "exponential", "max delay", "jitter", "no delay"],
)
async def test_attempts_are_as_far_apart_as_the_policy_says(lab, policy, expected):
    ended = await lab.run(retried(**policy))

    assert expected == pauses(lab)
    assert [1, 2, 3, 4, 5] == [execution.attempt for execution in lab.book.executions]
    assert ("halted", "attempt 5 fails") == (ended.status, ended.message.error.message)


async def test_a_retry_that_succeeds_is_a_success(lab):
    document = workflow(
        TRIGGER,
        node("p", "probe", fail_first=2, value="at last", retry={"max_attempts": 3}),
        transform("after", "$p"),
        "start -> p -> after",
    )

    ended = await lab.run(document)

    assert ("completed", "at last") == (ended.status, ended.output("after"))
    assert ["running", "failed", "running", "failed", "running", "success"] == ended.states("p")


async def test_every_attempt_has_the_same_idempotency_key(lab):
    await lab.run(retried(delay=1))

    assert 1 == len({execution.key for execution in lab.book.executions})


async def test_visits_of_one_node_by_two_tokens_have_different_idempotency_keys(lab):
    document = workflow(
        TRIGGER,
        node("a", "noop"),
        node("b", "noop"),
        node("p", "probe"),
        "start -> a -> p",
        "start -> b -> p",
    )

    await lab.run(document)

    assert 2 == len({execution.key for execution in lab.book.executions})


async def test_only_the_codes_named_are_tried_again(lab):
    await lab.run(retried(on=["OTHER"]))
    await lab.run(retried(on=["OTHER", "PROBE"]))

    assert [1, 1, 2, 3, 4, 5] == [execution.attempt for execution in lab.book.executions]


async def test_a_failed_attempt_says_when_the_next_one_is(lab):
    ended = await lab.run(retried(delay=3, backoff="constant"))

    first, *_, last = [status for status in ended.statuses("p") if status.status == "failed"]
    assert {"retry_at": START_MS + 3000, "next_attempt": 2} == first.metadata
    assert None is last.metadata


async def test_items_of_a_split_retry_on_their_own(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", tag="$item", fail_first="$item", value="$item", retry=FOUR_TIMES),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )

    ended = await lab.run(document, [0, 1, 3])

    assert [0, 1, 3] == ended.output("all")
    assert [1, 2, 4] == [lab.book.tags().count(tag) for tag in (0, 1, 3)]


async def test_a_retry_survives_a_restart(lab):
    document = workflow(
        TRIGGER,
        node("p", "probe", fail_first=1, value="ok", retry={"max_attempts": 2, "delay": 3600}),
        "start -> p",
    )
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until(lambda: any(getattr(new, "metadata", None) for new in lab.news))
    lab.clock.release()

    ended = await lab.resume(run)

    assert "ok" == ended.output("p")
    assert START_MS + 3_600_000 == lab.book.executions[-1].at_ms


async def test_a_short_retry_behind_a_long_one_is_not_blocked_by_it(lab):
    patient = {"max_attempts": 2, "delay": 600}
    eager = {"max_attempts": 2, "delay": 1}
    document = workflow(
        TRIGGER,
        node("long", "probe", tag="long", fail_first=1, retry=patient),
        node("short", "probe", tag="short", fail_first=1, retry=eager),
        "start -> long",
        "start -> short",
    )

    await lab.run(document)

    assert [("short", 1_000), ("long", 600_000)] == [
        (execution.tag, execution.at_ms - START_MS)
        for execution in lab.book.executions
        if execution.attempt == 2
    ]
