"""RFC 005: a merge waits for all, any or some of its branches, and for none that cannot come."""

import pytest

from support.documents import TRIGGER, chosen, node, transform, workflow


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


async def test_wait_for_all_lists_the_branches_in_edge_order(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, joined())
        await lab.book.until_parked(2)
        lab.book.gate("b").set()
        await lab.book.until_parked(1)
        lab.book.gate("a").set()
        ended = await lab.finish(engine, run)

    assert ["A", "B"] == ended.output("after")
    assert 1 == lab.book.tags().count("after")


async def test_a_trigger_with_two_edges_into_a_merge_is_two_arrivals(lab):
    document = workflow(
        TRIGGER,
        node("join", "merge"),
        node("after", "probe", tag="after"),
        "one: start -> join",
        "two: start -> join",
        "join -> after",
    )

    ended = await lab.run(document, "x")

    assert ["x", "x"] == ended.output("join")
    assert ["after"] == lab.book.tags()


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


async def test_an_if_straight_into_a_merge_by_both_sides(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "$trigger", "y", "n"),
        node("join", "merge"),
        "start -> check",
        "y: check -> join",
        "n: check -> join",
    )

    ended = await lab.run(document, True)

    assert [{"result": True}] == ended.output("join")


async def test_a_long_dead_path_is_not_waited_for(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y"),
        node("b", "noop"),
        chosen("c", "true", "c1", "c2"),
        node("d", "noop"),
        node("e", "noop"),
        node("join", "merge"),
        transform("live", "1"),
        "start -> check",
        "y: check -> b -> c",
        "c1: c -> d -> join",
        "c2: c -> e -> join",
        "start -> live -> join",
    )

    ended = await lab.run(document)

    assert ("completed", [1]) == (ended.status, ended.output("join"))


async def test_a_dead_merge_kills_the_merge_behind_it(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y1", "n"),
        node("a", "noop"),
        node("b", "noop"),
        node("inner", "merge"),
        node("outer", "merge"),
        transform("live", "1"),
        "start -> check",
        "y1: check -> a",
        "a -> inner",
        "a -> b -> inner",
        "inner -> outer",
        "n: check -> live -> outer",
    )

    ended = await lab.run(document)

    assert [1] == ended.output("outer")
    assert "inner" not in ended.visited()


async def test_a_merge_that_nothing_reaches_does_not_hold_up_the_run(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y"),
        node("a", "noop"),
        node("b", "noop"),
        node("join", "merge"),
        "start -> check",
        "y: check -> a",
        "a -> join",
        "a -> b -> join",
    )

    ended = await lab.run(document)

    assert ("completed", None) == (ended.status, ended.output("join"))


async def test_a_dead_split_in_a_branch_is_not_waited_for(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y", "n"),
        node("each", "split", input_array="$trigger"),
        node("all", "aggregator"),
        transform("other", "1"),
        node("join", "merge"),
        "start -> check",
        "y: check -> each -> all -> join",
        "n: check -> other -> join",
    )

    ended = await lab.run(document, [1, 2])

    assert [1] == ended.output("join")


async def test_a_merge_behind_a_branch_that_failed_over_to_its_error_edge(lab):
    document = workflow(
        TRIGGER,
        node("risky", "fail", error={"type": "branch", "error_edge": "oops"}),
        node("saved", "noop"),
        transform("other", "1"),
        node("join", "merge"),
        "start -> risky",
        "risky -> join",
        "oops: risky ~> saved",
        "start -> other -> join",
    )

    ended = await lab.run(document)

    assert ("completed", [1]) == (ended.status, ended.output("join"))


@pytest.mark.parametrize(("kind", "expected"), [("noop", "good"), ("fail", "bad")])
async def test_success_and_error_edge_may_both_lead_to_the_merge(lab, kind, expected):
    document = workflow(
        TRIGGER,
        node("risky", kind, error={"type": "branch", "error_edge": "oops"}),
        transform("good", '"good"'),
        transform("bad", '"bad"'),
        node("join", "merge"),
        "start -> risky",
        "risky -> good -> join",
        "oops: risky ~> bad",
        "bad -> join",
    )

    ended = await lab.run(document)

    assert [expected] == ended.output("join")


async def test_the_context_after_a_merge_has_what_every_branch_gathered(lab):
    document = workflow(
        TRIGGER,
        transform("a1", "1"),
        transform("a2", "2"),
        transform("b1", "3"),
        node("join", "merge"),
        transform("after", "[$a1, $a2, $b1, $join]"),
        "start -> a1 -> a2 -> join",
        "start -> b1 -> join",
        "join -> after",
    )

    ended = await lab.run(document)

    assert [1, 2, 3, [2, 3]] == ended.output("after")


# -- any and n -----------------------------------------------------------------------------------


async def test_wait_for_any_goes_on_with_the_first_and_its_losers_end_quietly(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, joined(wait_mode="wait_for_any"))
        await lab.book.until_parked(2)
        lab.book.gate("b").set()
        await lab.book.until(lambda: "after" in lab.book.tags())
        lab.book.gate("a").set()
        ended = await lab.finish(engine, run)

    assert ("completed", ["B"]) == (ended.status, ended.output("after"))
    assert 1 == lab.book.tags().count("after")
    assert "A" in ended.outputs("a")


async def test_the_run_waits_for_the_losers_of_wait_for_any(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, joined(wait_mode="wait_for_any"))
        lab.book.gate("b").set()
        await lab.book.until_parked(1)
        unfinished = [run.execution_id for run in engine.unfinished()]
        lab.book.gate("a").set()
        await lab.finish(engine, run)

    assert [run] == unfinished


async def test_wait_for_any_with_a_dead_branch(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y", "n"),
        transform("a", "1"),
        transform("b", "2"),
        node("join", "merge", wait_mode="wait_for_any"),
        "start -> check",
        "y: check -> a -> join",
        "n: check -> b -> join",
    )

    assert [2] == (await lab.run(document)).output("join")


def three(n):
    return workflow(
        TRIGGER,
        *(node(name, "probe", gate=name, value=name) for name in "abc"),
        node("join", "merge", wait_mode="wait_for_n", n=n),
        node("after", "probe", tag="after", value="$join"),
        *(f"start -> {name} -> join" for name in "abc"),
        "join -> after",
    )


async def test_wait_for_n_opens_with_the_nth_arrival(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, three(2))
        await lab.book.until_parked(3)
        for name in "ca":
            lab.book.gate(name).set()
        await lab.book.until(lambda: "after" in lab.book.tags())
        lab.book.gate("b").set()
        ended = await lab.finish(engine, run)

    assert ["a", "c"] == ended.output("after")
    assert 1 == lab.book.tags().count("after")


async def test_wait_for_n_opens_with_fewer_when_no_more_can_come(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "false", "y"),
        transform("a", "1"),
        transform("b", "2"),
        transform("c", "3"),
        node("join", "merge", wait_mode="wait_for_n", n=3),
        "start -> check",
        "y: check -> a -> join",
        "start -> b -> join",
        "start -> c -> join",
    )

    assert [2, 3] == (await lab.run(document)).output("join")
