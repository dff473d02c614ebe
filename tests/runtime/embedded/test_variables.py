"""What expressions see while a run goes on, and what happens when one fails."""

import pytest

from support.documents import TRIGGER, node, transform, workflow


async def test_a_node_is_known_by_its_id_and_by_its_name(lab):
    document = workflow(
        TRIGGER,
        transform("a-b", "{x: 1}", name="First Step"),
        transform("after", '[$node["a-b"].x, $node["First Step"].x]'),
        "start -> a-b -> after",
    )

    assert [1, 1] == (await lab.run(document)).output("after")


async def test_input_is_the_output_of_the_node_before(lab):
    document = workflow(
        TRIGGER,
        transform("a", "{v: 1}"),
        transform("b", "[$input.v, .v]"),
        node("p", "probe", value="$input"),
        "start -> a -> b -> p",
    )

    ended = await lab.run(document)

    assert [1, 1] == ended.output("b")
    assert [1, 1] == ended.output("p")


async def test_input_of_an_entry_is_the_runs_input(lab):
    assert [5, 5] == (await lab.run(workflow(transform("a", "[$input, .]")), 5)).output("a")


async def test_input_after_a_merge_and_an_aggregator_is_their_list(lab):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger"),
        node("all", "aggregator"),
        transform("a", "$input"),
        node("join", "merge"),
        transform("b", "$input"),
        "start -> each -> all -> a -> join -> b",
    )

    ended = await lab.run(document, [1, 2])

    assert ([1, 2], [[1, 2]]) == (ended.output("a"), ended.output("b"))


async def test_execution_says_which_run_this_is(lab):
    document = workflow(
        TRIGGER,
        node("p", "probe", value="$execution", fail_first=1, retry={"max_attempts": 2}),
        "start -> p",
    )

    ended = await lab.run(document)

    assert {
        "id": "run-1",
        "workflow_id": "flow",
        "started_at": "2025-06-15T15:06:40.000Z",
        "attempt": 2,
    } == ended.output("p")


async def test_a_whole_string_is_the_typed_value_and_inside_text_it_is_written_out(lab):
    value = {
        "whole": "$trigger.list",
        "inside": "n=$trigger.n l=$trigger.list",
        "jq": "{{ 1 + 1 }}",
    }
    document = workflow(TRIGGER, node("p", "probe", value=value), "start -> p")

    ended = await lab.run(document, {"list": [1, "a"], "n": 3})

    assert {"whole": [1, "a"], "inside": 'n=3 l=[1,"a"]', "jq": 2} == ended.output("p")


async def test_data_is_never_taken_for_an_expression(lab):
    document = workflow(
        TRIGGER,
        node("p", "probe", value="$trigger"),
        transform("t", "$p"),
        node("say", "log", message="$t"),
        "start -> p -> t -> say",
    )

    ended = await lab.run(document, "{{ 1 + 1 }} $trigger.x $ENV.HOME")

    assert "{{ 1 + 1 }} $trigger.x $ENV.HOME" == ended.output("say")["message"]


@pytest.mark.parametrize(
    ("bad", "pointer"),
    [
        (transform("bad", "$trigger | keys"), "/expression"),
        (node("bad", "probe", value={"deep": [1, "{{ $trigger | keys }}"]}), "/value/deep/1"),
        (node("bad", "log", message="{{ error(\"x\") }}"), "/message"),
        (node("bad", "switch", cases=[{"when": "false", "edge_id": "e"},
                                      {"when": "$trigger | keys", "edge_id": "e"}]),
         "/cases/1/when"),
        (node("bad", "probe", fail_first="$trigger"), "/fail_first"),
        (node("bad", "wait", amount="$trigger"), "/amount"),
    ],
    ids=["jq", "nested", "text", "case", "type", "wait"],
)  # fmt: skip
async def test_an_expression_that_fails_fails_its_node_and_names_the_parameter(lab, bad, pointer):
    document = workflow(TRIGGER, bad, node("after", "noop"), "start -> bad", "e: bad -> after")

    ended = await lab.run(document, "text")

    assert "halted" == ended.status
    assert "bad" == ended.message.failed_node
    assert f"parameter {pointer}" in ended.message.error.message
    assert {"parameter": pointer} == ended.message.error.details


@pytest.mark.parametrize("expression", ["[range(1e12)] | length", "def f: f; f", '"x" * 1e10'])
async def test_an_expression_that_never_ends_or_explodes_is_stopped(lab, expression):
    ended = await lab.run(workflow(TRIGGER, transform("bad", expression), "start -> bad"))

    assert ("halted", "EXPRESSION_LIMIT") == (ended.status, ended.message.error.code)


async def test_the_environment_is_empty(lab):
    ended = await lab.run(workflow(TRIGGER, transform("a", "[env, $ENV]"), "start -> a"))

    assert [{}, {}] == ended.output("a")
