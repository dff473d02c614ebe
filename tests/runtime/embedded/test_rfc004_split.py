"""RFC 004: a split runs its body once for each item, and its aggregator gathers them in order."""

import pytest

from onward.kernel.outcome import Succeeded
from support.documents import TRIGGER, chosen, node, transform, workflow

SPLIT = node("each", "split", input_array="$trigger")
GATHER = node("all", "aggregator")


def mapped(*body, path="p", **split):
    """Return a workflow that maps a body over the input: start -> each -> ... -> all -> after."""
    each = node("each", "split", input_array="$trigger", **split)
    return workflow(
        TRIGGER, each, *body, GATHER, transform("after", "$all"),
        f"start -> each -> {path} -> all -> after",
    )  # fmt: skip


async def test_items_are_gathered_in_item_order_however_they_finish(lab):
    document = mapped(node("p", "probe", gate="{{ $item | tostring }}", value="$item"))
    async with lab.engine() as engine:
        run = await lab.start(engine, document, [0, 1, 2, 3])
        await lab.book.until_parked(4)
        for item in (2, 3, 0, 1):
            lab.book.gate(str(item)).set()
        ended = await lab.finish(engine, run)

    assert [0, 1, 2, 3] == ended.output("after")


async def test_each_item_sees_its_item_its_index_and_what_came_before(lab):
    document = mapped(transform("p", "[$item, $index, $input, ($trigger | length)]"))

    ended = await lab.run(document, ["a", "b"])

    assert [["a", 0, "a", 2], ["b", 1, "b", 2]] == ended.output("all")


async def test_item_and_index_do_not_leak_out_of_the_split(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        transform("p", "$item"),
        GATHER,
        transform("after", "[$item, $index, $p]"),
        "start -> each -> p -> all -> after",
    )

    ended = await lab.run(document, [1, 2])

    assert [None, None, None] == ended.output("after")
    assert {"$trigger", "$start", "$all", "$after"} == set(ended.context)


async def test_items_that_end_early_behind_an_if_are_null(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        chosen("odd", "$item % 2 == 1", "yes", "no"),
        node("stop", "noop"),
        transform("p", "$item * 10"),
        GATHER,
        transform("after", "$all"),
        "start -> each -> odd",
        "yes: odd -> p",
        "no: odd -> stop",
        "p -> all -> after",
    )

    ended = await lab.run(document, [1, 2, 3, 4])

    assert [10, None, 30, None] == ended.output("after")


async def test_all_items_end_early_and_the_run_goes_on(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        chosen("never", "false", "yes"),
        GATHER,
        transform("after", "$all"),
        "start -> each -> never",
        "yes: never -> all -> after",
    )

    ended = await lab.run(document, [1, 2, 3])

    assert [None, None, None] == ended.output("after")


async def test_an_item_that_is_null_is_an_item(lab):
    ended = await lab.run(mapped(transform("p", "$item")), [None, False, 0, ""])

    assert [None, False, 0, ""] == ended.output("after")


async def test_items_that_look_like_json_stay_the_text_they_are(lab):
    texts = ['{"a": 1}', "[1]", "null", '"quoted"', ""]

    assert texts == (await lab.run(mapped(transform("p", "$item")), texts)).output("after")


async def test_item_two_of_three_fails_and_is_an_error_object_in_the_list(lab):
    document = mapped(node("p", "probe", fail_first="{{ if $item == 2 then 9 else 0 end }}",
                           value="$item", code="ODD", details={"n": 1}))  # fmt: skip

    ended = await lab.run(document, [1, 2, 3])

    assert "completed" == ended.status
    assert [
        1,
        {"error": {"message": "attempt 1 fails", "code": "ODD", "details": {"n": 1}}},
        3,
    ] == ended.output("after")


async def test_every_item_fails_and_the_run_still_completes(lab):
    ended = await lab.run(mapped(node("p", "fail", code="X")), [1, 2])

    assert "completed" == ended.status
    assert ["X", "X"] == [item["error"]["code"] for item in ended.output("after")]


async def test_a_failed_item_stops_only_its_own_other_paths(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        node("bad", "fail"),
        node("good", "probe", tag="$item", gate="g"),
        node("next", "probe", tag="next"),
        GATHER,
        "start -> each",
        "each -> bad -> all",
        "each -> good -> next -> all",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, [1])
        ended = await lab.finish(engine, run)

    assert ["FAILED"] == [item["error"]["code"] for item in ended.output("all")]
    assert "next" not in lab.book.tags()


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


async def test_a_fork_inside_an_item_whose_paths_all_reach_the_aggregator_fills_one_slot(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        transform("left", "$item + 1"),
        transform("right", "$item + 2"),
        GATHER,
        "start -> each",
        "each -> left -> all",
        "each -> right -> all",
    )

    ended = await lab.run(document, [10, 20])

    assert [11, 21] == ended.output("all")


async def test_a_fork_inside_an_item_of_which_one_path_ends_early(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        node("aside", "probe", tag="$item"),
        transform("p", "$item"),
        GATHER,
        "start -> each",
        "each -> aside",
        "each -> p -> all",
    )

    ended = await lab.run(document, [1, 2])

    assert [1, 2] == ended.output("all")
    assert {1, 2} == set(lab.book.tags())


async def test_the_aggregator_waits_for_the_paths_of_an_item_that_lead_nowhere(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        node("aside", "probe", gate="g"),
        transform("p", "$item"),
        GATHER,
        "start -> each",
        "each -> aside",
        "each -> p -> all",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, [1])
        await lab.book.until_parked(1)
        early = [new for new in lab.news if getattr(new, "progress", None)]
        lab.book.gate("g").set()
        ended = await lab.finish(engine, run)

    assert [] == early
    assert [1] == ended.output("all")


async def test_two_aggregators_of_one_split_each_gather_their_own(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        chosen("big", "$item > 5", "yes", "no"),
        transform("a", "$item"),
        transform("b", "-$item"),
        node("bigs", "aggregator"),
        node("smalls", "aggregator"),
        transform("after_bigs", "$bigs"),
        transform("after_smalls", "$smalls"),
        "start -> each -> big",
        "yes: big -> a",
        "no: big -> b",
        "a -> bigs -> after_bigs",
        "b -> smalls -> after_smalls",
    )

    ended = await lab.run(document, [1, 9])

    assert ([None, 9], [-1, None]) == (ended.output("after_bigs"), ended.output("after_smalls"))


# -- empty ---------------------------------------------------------------------------------------


async def test_an_empty_split_goes_on_after_its_aggregator_with_an_empty_list(lab):
    ended = await lab.run(mapped(node("p", "probe")), [])

    assert ("completed", []) == (ended.status, ended.output("after"))
    assert [] == lab.book.tags()


async def test_an_empty_split_without_an_aggregator_ends_its_path(lab):
    document = workflow(TRIGGER, SPLIT, node("p", "probe"), "start -> each -> p")

    ended = await lab.run(document, [])

    assert ("completed", ("each",)) == (ended.status, ended.message.output_nodes)
    assert [] == lab.book.tags()


async def test_a_split_without_an_aggregator_completes_after_its_last_item(lab):
    document = workflow(TRIGGER, SPLIT, node("p", "probe", tag="$item"), "start -> each -> p")

    ended = await lab.run(document, [1, 2, 3])

    assert "completed" == ended.status
    assert {1, 2, 3} == set(lab.book.tags())


async def test_an_empty_split_whose_aggregator_is_last_completes_with_an_empty_list(lab):
    document = workflow(TRIGGER, SPLIT, GATHER, "start -> each -> all")

    ended = await lab.run(document, [])

    assert ([], ("all",)) == (ended.output("all"), ended.message.output_nodes)


async def test_a_split_straight_into_its_aggregator_gathers_the_items(lab):
    ended = await lab.run(workflow(TRIGGER, SPLIT, GATHER, "start -> each -> all"), [3, 1, 2])

    assert [3, 1, 2] == ended.output("all")


# -- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"a": 1}, "an object"),
        ("text", "a string"),
        (7, "a number"),
        (1.5, "a number"),
        (True, "a boolean"),
        (None, "null"),
    ],
)
async def test_a_split_over_something_else_names_the_type_it_got(lab, given, kind):
    ended = await lab.run(mapped(node("p", "probe")), given)

    assert ("halted", "SPLIT_NOT_ARRAY") == (ended.status, ended.message.error.code)
    assert f"it is {kind}" in ended.message.error.message
    assert {"parameter": "/input_array"} == ended.message.error.details


async def test_a_huge_split_is_sent_in_pages_and_none_is_lost(lab):
    ended = await lab.run(mapped(transform("p", "$item + 1")), list(range(2345)))

    assert list(range(1, 2346)) == ended.output("after")


async def test_items_may_be_large(lab):
    ended = await lab.run(mapped(transform("p", "$item | length")), ["x" * 100_000, "y" * 40_000])

    assert [100_000, 40_000] == ended.output("after")


async def test_large_outputs_of_items_are_gathered_whole(lab):
    async def large(tools):
        return Succeeded("z" * 50_000)

    lab.book.acts["large"] = large

    ended = await lab.run(mapped(node("p", "probe", does="large")), [1, 2, 3])

    assert ["z" * 50_000] * 3 == ended.output("after")
