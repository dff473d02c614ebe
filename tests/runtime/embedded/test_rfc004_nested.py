"""RFC 004: splits inside splits, splits beside merges, merges inside splits."""

from support.documents import TRIGGER, chosen, node, transform, workflow

SPLIT = node("each", "split", input_array="$trigger")
GATHER = node("all", "aggregator")

NESTED = workflow(
    TRIGGER,
    node("outer", "split", input_array="$trigger"),
    node("inner", "split", input_array="$item"),
    transform("p", "[$item, $index]"),
    node("row", "aggregator"),
    node("table", "aggregator"),
    "start -> outer -> inner -> p -> row -> table",
)


async def test_a_nested_split_of_two_times_three(lab):
    ended = await lab.run(NESTED, [["a", "b", "c"], ["d", "e", "f"]])

    assert [[["a", 0], ["b", 1], ["c", 2]], [["d", 0], ["e", 1], ["f", 2]]] == ended.output("table")


async def test_a_nested_split_with_empty_rows(lab):
    ended = await lab.run(NESTED, [[], ["x"], []])

    assert [[], [["x", 0]], []] == ended.output("table")


async def test_a_nested_split_of_a_hundred_times_a_hundred(lab):
    table = [[100 * row + column for column in range(100)] for row in range(100)]

    ended = await lab.run(NESTED, table)

    expected = [[[value, index] for index, value in enumerate(row)] for row in table]
    assert expected == ended.output("table")
    assert 10_000 == len([run for run in ended.history if run.node_id == "p"])


async def test_an_outer_item_is_back_after_the_inner_split(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        node("inner", "split", input_array="$item.list"),
        node("row", "aggregator"),
        transform("p", "{name: $item.name, index: $index, row: $row}"),
        node("table", "aggregator"),
        "start -> outer -> inner -> row -> p -> table",
    )

    ended = await lab.run(document, [{"name": "a", "list": [1, 2]}, {"name": "b", "list": []}])

    assert [
        {"name": "a", "index": 0, "row": [1, 2]},
        {"name": "b", "index": 1, "row": []},
    ] == ended.output("table")


async def test_dead_ends_at_several_depths_still_fill_every_slot(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        node("inner", "split", input_array="$item"),
        chosen("deep", "$item > 0", "on"),
        node("row", "aggregator"),
        chosen("shallow", "$row[0] != null", "up"),
        node("table", "aggregator"),
        "start -> outer -> inner -> deep",
        "on: deep -> row",
        "row -> shallow",
        "up: shallow -> table",
    )

    ended = await lab.run(document, [[1, -1], [-1, 1], []])

    assert [{"result": True}, None, None] == ended.output("table")


async def test_a_failing_inner_split_is_one_failed_outer_item(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        node("inner", "split", input_array="$item", on_item_error="halt"),
        node("p", "probe", fail_first="$item", value="$item"),
        node("row", "aggregator"),
        node("table", "aggregator"),
        "start -> outer -> inner -> p -> row -> table",
    )

    ended = await lab.run(document, [[0, 0], [0, 1, 0]])

    first, second = ended.output("table")
    assert [0, 0] == first
    assert "SPLIT_FAILED" == second["error"]["code"]


async def test_a_merge_inside_a_split_does_not_collide_across_items(lab):
    document = workflow(
        TRIGGER,
        SPLIT,
        node("fast", "probe", value="{{ $item * 10 }}"),
        node("slow", "probe", gate="{{ $item | tostring }}", value="$item"),
        node("join", "merge"),
        GATHER,
        "start -> each",
        "each -> fast -> join",
        "each -> slow -> join",
        "join -> all",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document, [1, 2, 3])
        await lab.book.until_parked(3)
        for item in (3, 1, 2):
            lab.book.gate(str(item)).set()
        ended = await lab.finish(engine, run)

    assert [[10, 1], [20, 2], [30, 3]] == ended.output("all")


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

    ended = await lab.run(document, [1, 2])
    empty = await lab.run(document, [])

    assert [[2, 4], "other"] == ended.output("join")
    assert [[], "other"] == empty.output("join")
