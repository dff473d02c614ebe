"""RFC 005 section 5: a merge waits for what is slow, and not for ever."""

import pytest

from support.documents import TRIGGER, node, transform, workflow
from support.jumping import START_MS


def joined(*parts, **merge):
    """Return a workflow with two gated branches, `a` and `b`, into the merge `join`."""
    return workflow(
        TRIGGER,
        node("a", "probe", gate="a", value="A"),
        node("b", "probe", gate="b", value="B"),
        node("join", "merge", **merge),
        node("after", "probe", tag="after", value="$join"),
        "start -> a -> join",
        "start -> b -> join",
        "join -> after",
        *parts,
    )


async def test_a_wait_before_a_merge_is_waited_for(lab):
    document = workflow(
        TRIGGER,
        node("pause", "wait", amount=2, unit="hours"),
        transform("quick", "1"),
        node("join", "merge"),
        "start -> pause -> join",
        "start -> quick -> join",
    )

    ended = await lab.run(document)

    assert "completed" == ended.status
    assert [{"resumed_at": "2025-06-15T17:06:40.000Z"}, 1] == ended.output("join")


async def test_a_merge_that_waits_too_long_fails_the_run(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, joined(timeout=30))
        lab.book.gate("a").set()
        ended = await lab.finish(engine, run)

    assert ("failed", "MERGE_TIMEOUT") == (ended.status, ended.message.error.code)
    assert "1 of 2 branches" in ended.message.error.message
    assert START_MS + 30_000 == lab.clock.now
    assert "after" not in lab.book.tags()


async def test_a_merges_patience_begins_with_its_first_arrival(lab):
    document = workflow(
        TRIGGER,
        node("pause", "wait", amount=100),
        node("b", "probe", gate="never"),
        node("join", "merge", timeout=30),
        "start -> pause -> join",
        "start -> b -> join",
    )

    await lab.run(document)

    assert START_MS + 130_000 == lab.clock.now


async def test_later_arrivals_do_not_extend_a_merges_patience(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=20),
        node("c", "probe", gate="never"),
        node("join", "merge", timeout=30),
        "start -> quick -> join",
        "start -> pause -> join",
        "start -> c -> join",
    )

    ended = await lab.run(document)

    assert "2 of 3 branches" in ended.message.error.message
    assert START_MS + 30_000 == lab.clock.now


@pytest.mark.parametrize(
    ("policy", "expected"),
    [({"type": "ignore"}, "after"), ({"type": "branch", "error_edge": "oops"}, "saved")],
)
async def test_a_late_merge_follows_its_error_policy_and_late_branches_end(lab, policy, expected):
    saved = node("saved", "probe", tag="saved")
    document = joined(saved, "oops: join ~> saved", timeout=30, error=policy)
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        lab.book.gate("a").set()
        await lab.book.until(lambda: expected in lab.book.tags())
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert "completed" == ended.status
    assert [expected] == [tag for tag in lab.book.tags() if tag]
    assert "MERGE_TIMEOUT" == ended.output("join")["error"]["code"]


async def test_a_merge_in_time_is_not_disturbed_by_its_timer(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=20),
        node("join", "merge", timeout=30),
        node("late", "wait", amount=60),
        "start -> quick -> join",
        "start -> pause -> join",
        "join -> late",
    )

    ended = await lab.run(document)

    assert "completed" == ended.status
    assert START_MS + 80_000 == lab.clock.now


async def test_the_last_arrival_and_the_time_limit_at_the_same_moment_decide_once(lab):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=30),
        node("join", "merge", timeout=30),
        "start -> quick -> join",
        "start -> pause -> join",
    )

    ended = await lab.run(document)

    assert ended.status in ("completed", "failed")
    assert 1 == len([run for run in ended.history if run.node_id == "join"])


async def test_merges_in_several_items_time_out_each_on_their_own(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("quick", "noop"),
        node("pause", "wait", amount="$item"),
        node("join", "merge", timeout=30),
        node("all", "aggregator"),
        "start -> each",
        "each -> quick -> join",
        "each -> pause -> join",
        "join -> all",
    )

    ended = await lab.run(document, [10, 50, 20])

    outputs = ended.output("all")
    assert ["MERGE_TIMEOUT"] == [
        output["error"]["code"] for output in outputs if isinstance(output, dict)
    ]
    assert [2, 2] == [len(output) for output in outputs if isinstance(output, list)]
