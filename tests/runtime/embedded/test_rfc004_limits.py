"""Splits within limits: how many items at once, how many in one, and how many may fail."""

import pytest

from support.documents import TRIGGER, node, transform, workflow
from support.jumping import START_MS

FAILS_IF_NEGATIVE = node("p", "probe", tag="$item", value="$item",
                         fail_first="{{ if $item < 0 then 9 else 0 end }}")  # fmt: skip

IF_B = '{{ if $item == "b" then 9 else 0 end }}'


def mapped(body, gather=None, **split):
    return workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger", **split),
        body,
        gather or node("all", "aggregator"),
        transform("after", "$all"),
        "start -> each -> p -> all -> after",
    )


@pytest.mark.parametrize("window", [1, 3, 7])
async def test_no_more_items_than_max_concurrency_are_ever_in_flight(lab, window):
    document = mapped(node("p", "probe", gate="g", value="$item"), max_concurrency=window)
    async with lab.engine() as engine:
        run = await lab.start(engine, document, list(range(20)))
        await lab.book.until_parked(window)
        lab.book.gate("g").set()
        ended = await lab.finish(engine, run)

    assert window == lab.book.peak
    assert list(range(20)) == ended.output("after")


async def test_max_concurrency_holds_through_the_whole_split_not_only_its_first_wave(lab):
    document = mapped(
        node("p", "probe", gate="{{ $index | tostring }}", value="$index"), max_concurrency=2
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, list(range(6)))
        for done, index in enumerate((1, 0, 2, 3, 5, 4)):
            await lab.book.until(lambda done=done: len(lab.book.executions) == min(6, done + 2))
            lab.book.gate(str(index)).set()
        ended = await lab.finish(engine, run)

    assert 2 == lab.book.peak
    assert [0, 1, 2, 3, 4, 5] == ended.output("after")


async def test_max_concurrency_counts_an_item_until_its_last_path_ends(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger", max_concurrency=1),
        node("p", "probe", tag="$item"),
        node("aside", "probe", tag="aside", gate="g"),
        node("all", "aggregator"),
        "start -> each",
        "each -> p -> all",
        "each -> aside",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, [1, 2])
        await lab.book.until_parked(1)
        early = lab.book.tags()
        lab.book.gate("g").set()
        await lab.finish(engine, run)

    assert {1, "aside"} == set(early)
    assert 2 not in early


async def test_max_concurrency_holds_after_a_restart(lab):
    document = mapped(node("p", "probe", gate="g", value="$item"), max_concurrency=3)
    async with lab.engine() as engine:
        run = await lab.start(engine, document, list(range(10)))
        await lab.book.until_parked(3)
    lab.book.gate("g").set()

    ended = await lab.resume(run)

    assert 3 == lab.book.peak
    assert list(range(10)) == ended.output("after")


async def test_failed_and_early_items_release_the_next_ones(lab):
    ended = await lab.run(mapped(FAILS_IF_NEGATIVE, max_concurrency=1), [-1, 1, -2, 2])

    assert [-1, 1, -2, 2] == lab.book.tags()
    assert [True, False, True, False] == [isinstance(item, dict) for item in ended.output("after")]


async def test_a_windowed_split_larger_than_a_page(lab):
    document = mapped(transform("p", "$item"), max_concurrency=600)

    ended = await lab.run(document, list(range(1300)))

    assert list(range(1300)) == ended.output("after")


async def test_batches_hold_so_many_items_and_the_rest(lab):
    ended = await lab.run(mapped(transform("p", "[$index, $item]"), batch_size=3), list("abcdefg"))

    assert [[0, ["a", "b", "c"]], [1, ["d", "e", "f"]], [2, ["g"]]] == ended.output("after")


async def test_a_batch_larger_than_the_array_is_one_item(lab):
    ended = await lab.run(mapped(transform("p", "$item"), batch_size=100), [1, 2])

    assert [[1, 2]] == ended.output("after")


async def test_an_empty_array_has_no_batches(lab):
    ended = await lab.run(mapped(transform("p", "$item"), batch_size=10), [])

    assert [] == ended.output("after")


TEN = [-1, 2, -3, 4, -5, 6, 7, 8, 9, 10]  # three of them fail


@pytest.mark.parametrize(
    ("tolerated", "status"),
    [(3, "completed"), (2, "halted"), (0, "halted"), ("30%", "completed"), ("29%", "halted"),
     ("0%", "halted"), ("100%", "completed"), (None, "completed")],
)  # fmt: skip
async def test_as_many_failures_as_tolerated_are_tolerated_and_no_more(lab, tolerated, status):
    ended = await lab.run(mapped(FAILS_IF_NEGATIVE, tolerated_failures=tolerated), TEN)

    assert status == ended.status


async def test_a_split_that_failed_says_how_many_of_its_items_did(lab):
    ended = await lab.run(mapped(FAILS_IF_NEGATIVE, tolerated_failures=1, max_concurrency=1), TEN)

    assert "each" == ended.message.failed_node
    assert "SPLIT_FAILED" == ended.message.error.code
    assert {"failed": 2, "filled": 3, "total": 10} == ended.message.error.details
    assert [-1, 2, -3] == lab.book.tags()


async def test_on_item_error_halt_fails_the_split_with_its_first_failed_item(lab):
    document = mapped(FAILS_IF_NEGATIVE, on_item_error="halt", max_concurrency=1)

    ended = await lab.run(document, [1, -2, 3])

    assert ("halted", "SPLIT_FAILED") == (ended.status, ended.message.error.code)
    assert [1, -2] == lab.book.tags()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [({"type": "ignore"}, ["after"]), ({"type": "branch", "error_edge": "oops"}, ["saved"])],
)
async def test_a_failed_split_follows_its_own_error_policy_outside_its_items(lab, policy, expected):
    each = node("each", "split", input_array="$trigger", on_item_error="halt", error=policy)
    document = workflow(
        TRIGGER,
        each,
        node("p", "fail"),
        node("all", "aggregator"),
        node("after", "probe", tag="after"),
        node("saved", "probe", tag="saved"),
        "start -> each -> p -> all -> after",
        "oops: each ~> saved",
    )

    ended = await lab.run(document, [1, 2])

    assert "completed" == ended.status
    assert expected == lab.book.tags()
    assert "SPLIT_FAILED" == ended.output("each")["error"]["code"]


async def test_a_failed_split_cancels_what_still_runs_only_when_the_run_ends(lab):
    document = mapped(
        node("p", "probe", gate="{{ $item }}", fail_first=IF_B),
        on_item_error="halt",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, ["a", "b"])
        await lab.book.until_parked(2)
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert "halted" == ended.status
    assert 1 == lab.book.cancelled


# -- aggregator ----------------------------------------------------------------------------------


async def test_collect_decides_what_an_item_leaves(lab):
    gather = node("all", "aggregator", collect="{n: $p, at: $index}")

    ended = await lab.run(mapped(transform("p", "$item * 2"), gather), [5, 6])

    assert [{"n": 10, "at": 0}, {"n": 12, "at": 1}] == ended.output("after")


async def test_a_collect_that_fails_is_a_failed_item_that_names_the_parameter(lab):
    gather = node("all", "aggregator", collect="$item.x")

    ended = await lab.run(mapped(transform("p", "$item"), gather), [{"x": 1}, 5])

    first, second = ended.output("after")
    assert 1 == first
    assert "EXPRESSION_FAILED" == second["error"]["code"]
    assert {"parameter": "/collect"} == second["error"]["details"]


def patient(seconds, **how):
    return mapped(
        node("p", "probe", gate="{{ $item }}", value="$item"),
        node("all", "aggregator", timeout=seconds, **how),
    )


async def test_an_aggregator_whose_items_are_late_fails_when_its_time_is_up(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, patient(60), ["a", "b"])
        lab.book.gate("a").set()
        ended = await lab.finish(engine, run)

    assert ("failed", "AGGREGATOR_TIMEOUT") == (ended.status, ended.message.error.code)
    assert START_MS + 60_000 == lab.clock.now
    assert 1 == lab.book.cancelled


async def test_an_aggregator_in_time_is_not_disturbed_by_its_timer(lab):
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, patient(60), ["a", "b"])
        lab.book.gate("a").set()
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert ("completed", ["a", "b"]) == (ended.status, ended.output("after"))


async def test_the_last_arrival_and_the_time_limit_at_the_same_moment_end_the_run_once(lab):
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, patient(60), ["a", "b"])
        lab.book.gate("a").set()
        await lab.book.until_parked(1)
        lab.clock.now += 60_000
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert ended.status in ("completed", "failed")
    assert (ended.status == "completed") == (["a", "b"] == ended.output("all"))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [({"type": "ignore"}, "after"), ({"type": "branch", "error_edge": "oops"}, "saved")],
)
async def test_a_late_aggregator_follows_its_own_error_policy(lab, policy, expected):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", tag="p", gate="{{ $item }}"),
        node("all", "aggregator", timeout=5, error=policy),
        node("after", "probe", tag="after"),
        node("saved", "probe", tag="saved"),
        "start -> each -> p -> all -> after",
        "oops: all ~> saved",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, ["a", "b"])
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert "completed" == ended.status
    assert ["p", "p", expected] == lab.book.tags()
    assert "AGGREGATOR_TIMEOUT" == ended.output("all")["error"]["code"]


async def test_items_that_come_after_the_time_limit_are_dropped(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", gate="{{ $item }}", value="$item"),
        node("all", "aggregator", timeout=5, error={"type": "ignore"}),
        node("hold", "probe", gate="hold"),
        "start -> each -> p -> all -> hold",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, ["a", "b"])
        await lab.book.until_parked(3)
        lab.book.gate("a").set()
        lab.book.gate("b").set()
        await lab.book.until_parked(1)
        lab.book.gate("hold").set()
        ended = await lab.finish(engine, run)

    assert "completed" == ended.status
    assert "error" in ended.output("all")
