"""RFC 001: a run starts at its entries, follows its edges, and ends exactly once."""

from support.documents import TRIGGER, chosen, node, transform, workflow


async def test_a_chain_carries_every_output_to_its_end(lab):
    ended = await lab.run(
        workflow(
            TRIGGER, transform("a", "$trigger.n + 1"), transform("b", "$a * 10"), "start -> a -> b"
        ),
        {"n": 1},
    )

    assert "completed" == ended.status
    assert {"$trigger": {"n": 1}, "$start": {"n": 1}, "$a": 2, "$b": 20} == ended.context
    assert ("b",) == ended.message.output_nodes


async def test_many_leaves_complete_the_run_once_and_only_after_the_last(lab):
    leaves = [node(f"leaf{i}", "probe", value=i, gate=f"g{i}") for i in range(4)]
    document = workflow(TRIGGER, *leaves, *(f"start -> leaf{i}" for i in range(4)))
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(4)
        for i in (2, 0, 3):
            lab.book.gate(f"g{i}").set()
        await lab.book.until_parked(1)
        early = [new for new in lab.news if not hasattr(new, "node_id")]
        lab.book.gate("g1").set()
        ended = await lab.finish(engine, run)

    assert [] == early
    assert [0, 1, 2, 3] == [ended.output(f"leaf{i}") for i in range(4)]
    assert {f"leaf{i}" for i in range(4)} == set(ended.message.output_nodes)


async def test_two_leaves_of_which_one_fails_halt_the_run_once(lab):
    document = workflow(
        TRIGGER,
        node("good", "probe", value="done"),
        node("bad", "fail", message="no", code="NO"),
        "start -> good",
        "start -> bad",
    )

    ended = await lab.run(document)

    assert "halted" == ended.status
    assert "bad" == ended.message.failed_node
    assert ("no", "NO") == (ended.message.error.message, ended.message.error.code)


async def test_a_halt_cancels_what_still_runs_and_nothing_follows_it(lab):
    document = workflow(
        TRIGGER,
        node("slow", "probe", gate="never"),
        node("after", "probe", tag="after"),
        node("hold", "probe", gate="hold"),
        node("bad", "fail"),
        "start -> slow -> after",
        "start -> hold -> bad",
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(2)
        lab.book.gate("hold").set()
        ended = await lab.finish(engine, run)

    assert "halted" == ended.status
    assert 1 == lab.book.cancelled
    assert "after" not in lab.book.tags()


async def test_the_input_is_the_triggers_output_and_the_variable_trigger(lab):
    document = workflow(TRIGGER, transform("both", "[$start, $trigger, .]"), "start -> both")

    ended = await lab.run(document, [1, {"a": None}])

    assert [[1, {"a": None}]] * 3 == ended.output("both")


async def test_any_type_can_be_the_trigger_and_does_not_run_its_own_work(lab):
    document = workflow(
        node("begin", "probe", trigger=True, tag="ran"),
        transform("next", "$begin.x"),
        "begin -> next",
    )

    ended = await lab.run(document, {"x": 7})

    assert 7 == ended.output("next")
    assert [] == lab.book.tags()


async def test_without_a_trigger_a_run_starts_wherever_nothing_leads(lab):
    document = workflow(
        transform("left", "$trigger + 1"),
        transform("right", "$trigger + 2"),
        transform("after", ". * 10"),
        "left -> after",
    )

    ended = await lab.run(document, 1)

    assert (2, 3, 20) == tuple(ended.output(name) for name in ("left", "right", "after"))
    assert {"after", "right"} == set(ended.message.output_nodes)


async def test_several_triggers_all_start_and_the_run_ends_once(lab):
    document = workflow(
        node("one", "manual_trigger"),
        node("two", "manual_trigger"),
        node("join", "merge"),
        "one -> join",
        "two -> join",
    )

    ended = await lab.run(document, "in")

    assert ["in", "in"] == ended.output("join")


async def test_a_single_node_is_a_whole_run(lab):
    ended = await lab.run(workflow(TRIGGER), {"a": 1})

    assert ("completed", {"a": 1}) == (ended.status, ended.output("start"))


async def test_a_conditional_takes_one_side_and_never_the_other(lab):
    document = workflow(
        TRIGGER,
        chosen("check", "$trigger.n > 0", "yes", "no"),
        node("a", "probe", tag="a"),
        node("b", "probe", tag="b"),
        "start -> check",
        "yes: check -> a",
        "no: check -> b",
    )

    above, below = await lab.run(document, {"n": 1}), await lab.run(document, {"n": -1})

    assert ({"result": True}, {"result": False}) == (above.output("check"), below.output("check"))
    assert ["a", "b"] == lab.book.tags()


async def test_a_conditional_without_an_edge_for_its_side_ends_the_path(lab):
    document = workflow(
        TRIGGER, chosen("check", "false", "yes"), node("a", "noop"), "start -> check",
        "yes: check -> a",
    )  # fmt: skip

    ended = await lab.run(document)

    assert ("completed", ("check",)) == (ended.status, ended.message.output_nodes)


async def test_zero_and_empty_text_are_true_as_in_jq(lab):
    document = workflow(
        TRIGGER,
        chosen("zero", "0", "z"),
        node("a", "probe", tag="zero"),
        chosen("text", '""', "t"),
        node("b", "probe", tag="text"),
        "start -> zero",
        "z: zero -> a",
        "start -> text",
        "t: text -> b",
    )

    await lab.run(document)

    assert {"zero", "text"} == set(lab.book.tags())


async def test_a_switch_takes_its_first_true_case_or_the_default(lab):
    cases = [
        {"when": "$trigger > 10", "edge_id": "big"},
        {"when": "$trigger > 1", "edge_id": "mid"},
    ]
    document = workflow(
        TRIGGER,
        node("pick", "switch", cases=cases, default_edge_id="small"),
        node("a", "probe", tag="big"),
        node("b", "probe", tag="mid"),
        node("c", "probe", tag="small"),
        "start -> pick",
        "big: pick -> a",
        "mid: pick -> b",
        "small: pick -> c",
    )

    picked = [(await lab.run(document, n)).output("pick")["case"] for n in (50, 5, 0)]

    assert [0, 1, "default"] == picked
    assert ["big", "mid", "small"] == lab.book.tags()


async def test_a_node_with_two_incoming_edges_runs_once_for_each_arrival(lab):
    document = workflow(
        TRIGGER,
        transform("a", "1"),
        transform("b", "2"),
        node("twice", "probe", tag="$input"),
        "start -> a -> twice",
        "start -> b -> twice",
    )

    ended = await lab.run(document)

    assert [1, 2] == sorted(lab.book.tags())
    assert "completed" == ended.status


async def test_two_edges_between_the_same_nodes_are_two_arrivals(lab):
    document = workflow(
        TRIGGER, node("p", "probe", tag="p"), "first: start -> p", "second: start -> p"
    )

    await lab.run(document)

    assert ["p", "p"] == lab.book.tags()


async def test_a_run_that_ended_can_be_asked_for_again(lab):
    document = workflow(TRIGGER, transform("a", "1"), "start -> a")
    ended = await lab.run(document)

    async with lab.engine() as engine:
        again = await engine.wait(ended.execution_id)

    assert ended.message == again


async def test_many_runs_at_once_do_not_mix(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger.items"),
        node("p", "probe", value="$item"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    async with lab.engine(slots=5) as engine:
        runs = [
            await lab.start(engine, document, {"items": [[n, i] for i in range(3)]})
            for n in range(12)
        ]
        outputs = [(await lab.finish(engine, run)).output("all") for run in runs]

    assert [[[n, i] for i in range(3)] for n in range(12)] == outputs
    assert lab.book.peak <= 5


async def test_a_huge_run_does_not_starve_a_small_one(lab):
    huge = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        transform("t", "$item"),
        node("all", "aggregator"),
        "start -> each -> t -> all",
        workflow_id="huge",
    )
    small = workflow(TRIGGER, transform("a", "1"), "start -> a", workflow_id="small")
    async with lab.engine() as engine:
        first = await lab.start(engine, huge, list(range(3000)))
        second = await lab.start(engine, small)
        await lab.finish(engine, second)
        unfinished = [run.execution_id for run in engine.unfinished()]
        await lab.finish(engine, first)

    assert [first] == unfinished
