"""Status and completion messages: what is said, in which order, with which fields."""

import msgspec

from onward.kernel.messages import CompletionMessage
from support.documents import TRIGGER, node, transform, workflow


def as_wire(message):
    return msgspec.json.decode(msgspec.json.encode(message))


async def test_every_node_runs_before_it_succeeds_and_the_completion_is_last(lab):
    document = workflow(
        TRIGGER, transform("a", "1"), node("p", "probe", value=2), "start -> a -> p"
    )

    ended = await lab.run(document)

    said = [(status.node_id, status.status) for status in ended.statuses()]
    expected = [(name, state) for name in ("start", "a", "p") for state in ("running", "success")]
    assert expected == said
    assert isinstance(ended.news[-1], CompletionMessage)


async def test_a_success_has_the_fields_of_the_rfc(lab):
    ended = await lab.run(workflow(TRIGGER, transform("a", "{x: 1}"), "start -> a"))

    wire = as_wire(ended.statuses("a")[-1])
    assert {"x": 1} == wire["output"]
    assert None is wire["error"]
    assert ("flow", "run-1", "a", "success") == tuple(
        wire[key] for key in ("workflow_id", "execution_id", "node_id", "status")
    )
    assert ("2025-06-15T15:06:40.000Z", 0) == (wire["executed_at"], wire["duration_ms"])


async def test_a_failure_has_its_error_and_no_output(lab):
    ended = await lab.run(workflow(TRIGGER, node("a", "fail", message="m", code="C"), "start -> a"))

    wire = as_wire(ended.statuses("a")[-1])
    assert ("failed", None) == (wire["status"], wire["output"])
    assert ("m", "C") == (wire["error"]["message"], wire["error"]["code"])


async def test_a_completion_has_the_fields_of_the_rfc(lab):
    document = workflow(TRIGGER, node("pause", "wait", amount=2), "start -> pause")

    wire = as_wire((await lab.run(document, {"n": 1})).message)

    assert ("flow", "run-1", "completed") == tuple(
        wire[key] for key in ("workflow_id", "execution_id", "status")
    )
    assert {"n": 1} == wire["final_context"]["$trigger"]
    assert ("2025-06-15T15:06:42.000Z", 2000) == (wire["completed_at"], wire["total_duration_ms"])


async def test_a_wait_says_when_it_will_resume(lab):
    ended = await lab.run(
        workflow(TRIGGER, node("pause", "wait", amount=90, unit="minutes"), "start -> pause")
    )

    assert ["running", "waiting", "success"] == ended.states("pause")
    assert {"resume_at": 1_750_005_400_000} == ended.statuses("pause")[1].metadata


async def test_a_merge_says_how_many_of_its_branches_have_arrived(lab):
    document = workflow(
        TRIGGER,
        transform("a", "1"),
        transform("b", "2"),
        node("c", "wait", amount=1),
        node("join", "merge"),
        "start -> a -> join",
        "start -> b -> join",
        "start -> c -> join",
    )

    ended = await lab.run(document)

    waiting = [status.details for status in ended.statuses("join") if status.status == "waiting"]
    assert [{"arrived": 1, "expected": 3}, {"arrived": 2, "expected": 3}] == waiting
    assert "success" == ended.states("join")[-1]


async def test_an_aggregator_says_how_far_it_is(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("p", "probe", fail_first="$item"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )

    ended = await lab.run(document, [0, 1, 0])

    progress = [status.progress for status in ended.statuses("all") if status.status == "waiting"]
    assert [1, 2, 3] == [step.processed for step in progress]
    assert {3} == {step.total for step in progress}
    assert 1 == progress[-1].failed


async def test_the_progress_of_a_huge_split_is_told_in_far_fewer_messages_than_items(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        transform("p", "$item"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )

    ended = await lab.run(document, list(range(2000)))

    processed = [status.progress.processed for status in ended.statuses("all") if status.progress]
    assert sorted(processed) == processed
    assert 2000 == processed[-1]
    assert len(processed) < 400


async def test_statuses_inside_a_split_carry_the_lineage_of_the_rfc(lab):
    document = workflow(
        TRIGGER,
        node("outer", "split", input_array="$trigger"),
        node("inner", "split", input_array="$item"),
        transform("p", "$item"),
        node("row", "aggregator"),
        node("table", "aggregator"),
        "start -> outer -> inner -> p -> row -> table",
    )

    ended = await lab.run(document, [[1], [2, 3]])

    stacks = [
        [(frame["split_node_id"], frame["branch_id"], frame["item_index"], frame["total_items"])
         for frame in as_wire(status)["lineage_stack"]]
        for status in ended.statuses("p") if status.status == "success"
    ]  # fmt: skip
    assert sorted(stacks) == sorted(
        [("outer", f"run-1_outer_{i}", i, 2), ("inner", f"run-1_inner_{j}", j, n)]
        for i, j, n in ((0, 0, 1), (1, 0, 2), (1, 1, 2))
    )
    assert [1, 1] == [
        len(status.lineage_stack) for status in ended.statuses("row") if status.status == "success"
    ]
    assert () == ended.statuses("table")[-1].lineage_stack


async def test_a_split_waits_while_its_items_run_and_then_succeeds(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("all", "aggregator"),
        "start -> each -> all",
    )

    ended = await lab.run(document, [1, 2])

    assert ["running", "waiting", "success"] == ended.states("each")
    assert {"items": 2} == ended.statuses("each")[1].details


async def test_a_large_output_is_referred_to_and_not_carried(lab):
    document = workflow(TRIGGER, transform("big", '"x" * 100000'), "start -> big")

    ended = await lab.run(document)

    status = ended.statuses("big")[-1]
    assert None is status.output
    assert 100_002 == status.output_ref.bytes
    assert "x" * 100_000 == ended.output("big")


async def test_a_log_node_writes_its_line_once_with_where_it_comes_from(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("say", "log", message="got $item", level="warning"),
        "start -> each -> say",
    )

    ended = await lab.run(document, ["a", "b"])

    assert [
        (
            "warning",
            "got a",
            {"run": ended.execution_id, "node": "say", "item": "each[0]", "attempt": 1},
        ),
        (
            "warning",
            "got b",
            {"run": ended.execution_id, "node": "say", "item": "each[1]", "attempt": 1},
        ),
    ] == lab.log.lines


async def test_the_duration_of_an_activity_is_how_long_it_ran(lab):
    lab.clock.hold()
    document = workflow(TRIGGER, node("p", "probe", gate="g"), "start -> p")
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(1)
        lab.clock.now += 1234
        lab.book.gate("g").set()
        ended = await lab.finish(engine, run)

    assert 1234 == ended.statuses("p")[-1].duration_ms
    assert [1234] == [run.duration_ms for run in ended.history if run.node_id == "p"]
