"""The engine's promises, kept through RabbitMQ, Redis and PostgreSQL."""

import pytest

from support.documents import TRIGGER, chosen, node, transform, workflow

SPLIT = node("each", "split", input_array="$trigger")
GATHER = node("all", "aggregator")


def mapped(*body, path="p"):
    """Return a workflow that maps a body over the input: start -> each -> ... -> all -> after."""
    return workflow(
        TRIGGER, SPLIT, *body, GATHER, transform("after", "$all"),
        f"start -> each -> {path} -> all -> after",
    )  # fmt: skip


async def test_a_chain_carries_every_output_to_its_end(lab):
    document = workflow(
        TRIGGER, transform("a", "$trigger.n + 1"), transform("b", "$a * 10"), "start -> a -> b"
    )

    ended = await lab.run(document, {"n": 1})

    assert "completed" == ended.status
    assert {"$trigger": {"n": 1}, "$start": {"n": 1}, "$a": 2, "$b": 20} == ended.context


async def test_a_trigger_with_two_edges_into_a_merge_is_two_arrivals(lab):
    document = workflow(
        TRIGGER, node("join", "merge"), node("after", "probe", tag="after"),
        "one: start -> join", "two: start -> join", "join -> after",
    )  # fmt: skip

    ended = await lab.run(document, "x")

    assert ["x", "x"] == ended.output("join")
    assert ["after"] == lab.book.tags()


async def test_items_that_end_early_behind_an_if_are_null(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        chosen("odd", "$item % 2 == 1", "yes", "no"),
        node("stop", "noop"),
        transform("p", "$item * 10"),
        GATHER,
        "start -> each -> odd",
        "yes: odd -> p",
        "no: odd -> stop",
        "p -> all",
    )

    ended = await lab.run(document, [1, 2, 3, 4])

    assert [10, None, 30, None] == ended.output("all")


async def test_a_nested_split_of_two_times_three(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        node("inner", "split", input_array="$item"),
        transform("p", "[$item, $index]"),
        node("row", "aggregator"),
        node("table", "aggregator"),
        "start -> outer -> inner -> p -> row -> table",
    )

    ended = await lab.run(document, [["a", "b", "c"], ["d", "e", "f"]])

    assert [[["a", 0], ["b", 1], ["c", 2]], [["d", 0], ["e", 1], ["f", 2]]] == ended.output("table")


async def test_an_empty_split_goes_on_after_its_aggregator(lab):
    ended = await lab.run(mapped(node("p", "probe")), [])

    assert ("completed", []) == (ended.status, ended.output("after"))
    assert [] == lab.book.tags()


async def test_item_two_of_three_fails_and_is_an_error_object_in_the_list(lab):
    fails = "{{ if $item == 2 then 9 else 0 end }}"
    document = mapped(node("p", "probe", fail_first=fails, value="$item", code="ODD"))

    ended = await lab.run(document, [1, 2, 3])

    first, second, third = ended.output("after")
    assert ("completed", 1, 3) == (ended.status, first, third)
    assert {"message": "attempt 1 fails", "code": "ODD", "details": {}} == second["error"]


@pytest.mark.parametrize(("given", "expected"), [(True, ["yes"]), (False, ["no"])])
async def test_an_if_with_both_sides_into_a_merge_opens_with_the_side_taken(lab, given, expected):
    document = workflow(
        TRIGGER,
        chosen("check", "$trigger", "y", "n"),
        transform("yes", '"yes"'),
        transform("no", '"no"'),
        node("join", "merge"),
        "start -> check",
        "y: check -> yes -> join",
        "n: check -> no -> join",
    )

    ended = await lab.run(document, given)

    assert ("completed", expected) == (ended.status, ended.output("join"))


async def test_two_leaves_of_which_one_fails_halt_the_run_once(lab):
    document = workflow(
        TRIGGER,
        node("good", "probe", value="done"),
        node("bad", "fail", message="no", code="NO"),
        "start -> good",
        "start -> bad",
    )

    ended = await lab.run(document)

    assert ("halted", "bad") == (ended.status, ended.message.failed_node)
    assert ("no", "NO") == (ended.message.error.message, ended.message.error.code)


async def test_an_error_branch_is_followed_and_no_success_edge(lab):
    document = workflow(
        TRIGGER,
        node("first", "fail", code="E2", error={"type": "branch", "error_edge": "oops"}),
        node("fine", "probe", tag="fine"),
        node("saved", "probe", tag="saved"),
        "start -> first",
        "ok: first -> fine",
        "oops: first ~> saved",
    )

    ended = await lab.run(document)

    assert ("completed", "E2") == (ended.status, ended.output("first")["error"]["code"])
    assert ["saved"] == lab.book.tags()


async def test_a_fork_inside_an_item_is_one_slot(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        transform("left", "$item + 1"),
        transform("right", "$item + 2"),
        node("join", "merge"),
        GATHER,
        "start -> each",
        "each -> left -> join",
        "each -> right -> join",
        "join -> all",
    )

    ended = await lab.run(document, [10, 20])

    assert [[11, 12], [21, 22]] == ended.output("all")


async def test_wait_for_any_goes_on_with_the_first_and_its_losers_end_quietly(lab):
    document = workflow(
        TRIGGER,
        node("a", "probe", gate="a", value="A"),
        node("b", "probe", value="B"),
        node("join", "merge", wait_mode="wait_for_any"),
        node("after", "probe", tag="after", value="$join"),
        "start -> a -> join",
        "start -> b -> join",
        "join -> after",
    )
    run = await lab.start(document)
    await lab.book.until(lambda: "after" in lab.book.tags())
    lab.book.gate("a").set()

    ended = await lab.finish(run)

    assert ("completed", ["B"]) == (ended.status, ended.output("after"))
    assert (1, 1) == (lab.book.tags().count("after"), ended.visits("a"))


async def test_a_split_inside_a_merge_branch(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        transform("p", "$item * 2"),
        GATHER,
        transform("other", '"other"'),
        node("join", "merge"),
        "start -> each -> p -> all -> join",
        "start -> other -> join",
    )

    ended, empty = await lab.run(document, [1, 2]), await lab.run(document, [])

    assert [[2, 4], "other"] == ended.output("join")
    assert [[], "other"] == empty.output("join")


async def test_large_values_travel_by_reference_and_are_whole_at_the_end(lab):
    document = mapped(transform("p", "$item | length"), transform("q", "$trigger[$index]"),
                      path="p -> q")  # fmt: skip
    large = ["x" * 100_000, "y" * 40_000]

    ended = await lab.run(document, large)

    assert large == ended.output("after")
    assert {"$trigger", "$all", "$after"} <= set(ended.message.context_refs)


async def test_a_split_of_a_thousand_items_is_gathered_in_order(lab):
    ended = await lab.run(mapped(transform("p", "$item + 1")), list(range(1000)))

    assert list(range(1, 1001)) == ended.output("after")
    assert 1000 == ended.visits("p")


async def test_many_runs_at_once_do_not_mix(lab):
    document = mapped(node("p", "probe", value="$item"))

    ended = await lab.run_all(document, [[[n, i] for i in range(3)] for n in range(12)])

    assert [[[n, i] for i in range(3)] for n in range(12)] == [one.output("all") for one in ended]
