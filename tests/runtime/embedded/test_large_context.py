"""Contexts that outgrow a message: stored once, referred to, and whole for whoever reads them."""

import pytest
from msgspec import Raw

from onward.kernel.context import payload_of
from onward.runtime.embedded.active_run import ActiveRun, JournaledCells
from onward.runtime.embedded.turn import TokenHandler
from support.documents import TRIGGER, node, transform, workflow

KB_20 = '"x" * 20000'


def chain(prefix, count):
    """Return a chain of transforms of 20 KB each: together more than a message carries."""
    return [transform(f"{prefix}{i}", f'"{prefix}{i}" + ({KB_20})') for i in range(count)]


def along(*names):
    return " -> ".join(names)


async def test_a_long_chain_of_medium_outputs_is_whole_at_its_end(lab):
    nodes = chain("a", 60)
    names = [step["id"] for step in nodes]
    last = transform("after", f"[{', '.join(f'${name}[:3]' for name in names)}]")
    document = workflow(TRIGGER, *nodes, last, along("start", *names, "after"))

    ended = await lab.run(document)

    assert [f"{name}x"[:3] for name in names] == ended.output("after")
    assert set(names) <= {name[1:] for name in ended.context}


async def test_two_branches_that_outgrew_a_message_are_both_whole_after_their_merge(lab):
    left, right = chain("a", 40), chain("b", 40)
    lefts, rights = [step["id"] for step in left], [step["id"] for step in right]
    document = workflow(
        TRIGGER,
        *left,
        *right,
        node("join", "merge"),
        transform("after", "[($join[] | .[:3]), $a0[:2], $b0[:2]]"),
        along("start", *lefts, "join"),
        along("start", *rights, "join"),
        "join -> after",
    )

    ended = await lab.run(document)

    assert ["a39", "b39", "a0", "b0"] == ended.output("after")
    assert {*lefts, *rights} <= {name[1:] for name in ended.context}


@pytest.mark.parametrize("size", [10, 1000, 100_000], ids=["small", "medium", "large"])
async def test_two_branches_with_a_split_each_are_both_whole_after_their_merge(lab, size):
    document = workflow(
        TRIGGER,
        transform("a", f'{{list: [1, 2], pad: ("a" * {size})}}'),
        node("a_each", "split", input_array="$a.list"),
        transform("a_item", "$item + ($a.pad | length)"),
        node("a_all", "aggregator"),
        transform("b", f'{{list: [3], pad: ("b" * {size})}}'),
        node("b_each", "split", input_array="$b.list"),
        transform("b_item", "$item + ($b.pad | length)"),
        node("b_all", "aggregator"),
        node("join", "merge"),
        transform("after", "[$a.list, $b.list, $a_all, $b_all, $join]"),
        "start -> a -> a_each -> a_item -> a_all -> join",
        "start -> b -> b_each -> b_item -> b_all -> join",
        "join -> after",
    )

    ended = await lab.run(document)

    a_all, b_all = [size + 1, size + 2], [size + 3]
    assert [[1, 2], [3], a_all, b_all, [a_all, b_all]] == ended.output("after")


async def test_a_split_after_a_long_chain_sees_all_of_it(lab):
    nodes = chain("a", 40)
    names = [step["id"] for step in nodes]
    document = workflow(
        TRIGGER,
        *nodes,
        node("each", "split", input_array="$trigger"),
        transform("p", "[$item, $a0[:2], $a39[:3]]"),
        node("all", "aggregator"),
        transform("after", "[$all, $a0[:2]]"),
        along("start", *names, "each", "p", "all", "after"),
    )

    ended = await lab.run(document, [1, 2])

    assert [[[1, "a0", "a39"], [2, "a0", "a39"]], "a0"] == ended.output("after")


async def test_a_merge_inside_an_item_after_a_split_of_its_own_branch(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        transform("a", '{list: [$item], pad: ("a" * 1000)}'),
        node("inner", "split", input_array="$a.list"),
        node("row", "aggregator"),
        transform("b", '{pad: ("b" * 1000), n: $item}'),
        node("join", "merge"),
        transform("p", "[$a.list, $b.n, $row, $item, ($join | length)]"),
        node("all", "aggregator"),
        "start -> outer",
        "outer -> a -> inner -> row -> join",
        "outer -> b -> join",
        "join -> p -> all",
    )

    ended = await lab.run(document, [1, 2])

    assert [[[1], 1, [1], 1, 2], [[2], 2, [2], 2, 2]] == ended.output("all")


async def test_runs_with_the_same_large_input_do_not_share_a_fate(lab):
    document = workflow(TRIGGER, transform("t", "$trigger | length"), "start -> t")
    async with lab.engine() as engine:
        runs = [await lab.start(engine, document, "x" * 50_000) for _ in range(5)]
        statuses = [(await lab.finish(engine, run)).status for run in runs]

    assert ["completed"] * 5 == statuses


async def test_the_bytes_a_split_writes_grow_with_its_items_and_not_with_their_square(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", value="$index"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    written = []
    for count in (300, 1200):
        before = lab.path.stat().st_size if lab.path.exists() else 0
        await lab.run(document, ["y" * 1000] * count)
        written.append((lab.path.stat().st_size - before) / count)

    assert written[1] < 1.5 * written[0]


async def test_a_payload_of_one_run_is_not_forgotten_because_anothers_was_committed(lab):
    """
    Control nodes read what is not committed yet. Two runs may hold the same bytes.
    """
    payload = payload_of(Raw(b"[1,2,3]"))
    journal = lab.open_journal(lab.path)
    handler = TokenHandler(journal, 0, lab.clock.now_ms, lab.chance.dice, lambda *_: None)
    program = lab.program(workflow(TRIGGER))
    one, two = (ActiveRun(name, program, JournaledCells()) for name in ("one", "two"))

    handler.store(one, [payload])
    first = handler.take()
    handler.store(two, [payload])
    journal.commit(first.commit)
    handler.forget_committed(first)

    try:
        assert [Raw(b"2")] == handler._reader.items("two", payload.ref, 1, 1)
    finally:
        journal.close()
