"""Awkward values, as input and as output: they go through unharmed, or are refused in words."""

import math

import pytest

from onward.errors import OnwardError
from onward.kernel.outcome import Succeeded
from support.documents import TRIGGER, node, transform, workflow

ECHO = workflow(
    TRIGGER,
    node("p", "probe", value="$trigger"),
    transform("t", "$p"),
    node("join", "merge"),
    "start -> p -> t -> join",
)


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, -(2**63) - 1, 10**30, 0.1, 1e308, -0.0, "", "\x00", "\U0001f600 é", [], {}, None,
     {"": {" ": [[]]}}, "x" * 10_000_000, nested(300)],
    ids=["2^53+1", "-2^63-1", "10^30", "0.1", "1e308", "-0", "empty", "nul", "emoji", "list",
         "object", "null", "odd keys", "10 MB", "300 levels"],
)  # fmt: skip
async def test_a_value_comes_out_as_it_went_in(lab, value):
    ended = await lab.run(ECHO, value)

    assert "completed" == ended.status
    assert [value] == ended.output("join")


async def test_integers_are_not_turned_into_floats_on_the_way(lab):
    ended = await lab.run(ECHO, [2**53 + 1])

    assert "[[9007199254740993]]" == str(ended.output("join")).replace(" ", "")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_numbers_that_json_does_not_have_are_null(lab, value):
    assert [{"n": None}] == (await lab.run(ECHO, {"n": value})).output("join")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": "\ud800"}, "surrogate"),
        (nested(1000), "nested deeper than 500"),
        (nested(100_000), "nested deeper than 500"),
        (object(), "not JSON"),
    ],
    ids=["surrogate", "1,000 levels", "100,000 levels", "object"],
)
async def test_an_input_that_cannot_be_kept_is_refused_before_anything_starts(lab, value, says):
    async with lab.engine() as engine:
        with pytest.raises(OnwardError, match=says):
            await lab.start(engine, ECHO, value)

        assert [] == engine.unfinished()


def puts_out(lab, value):
    async def act(tools):
        return Succeeded(value)

    lab.book.acts["act"] = act
    return workflow(
        TRIGGER,
        node("p", "probe", does="act", error={"type": "ignore"}),
        transform("t", "$p"),
        "start -> p -> t",
    )


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, "x" * 10_000_000, nested(400), {"k" * 1000: [1] * 1000}],
    ids=["2^53+1", "10 MB", "400 levels", "wide"],
)
async def test_an_output_is_kept_as_it_is(lab, value):
    ended = await lab.run(puts_out(lab, value))

    assert "completed" == ended.status
    assert value == ended.output("t")


async def test_an_output_with_nan_has_null_there(lab):
    assert [None, 1] == (await lab.run(puts_out(lab, [math.nan, 1]))).output("t")


@pytest.mark.parametrize("levels", [600, 1000, 5000])
async def test_an_output_that_is_too_deep_is_a_failed_node(lab, levels):
    ended = await lab.run(puts_out(lab, nested(levels)))

    assert "completed" == ended.status
    assert "OUTPUT_INVALID" == ended.output("p")["error"]["code"]


async def test_a_transform_that_nests_too_deeply_is_a_failed_node(lab):
    document = workflow(
        TRIGGER,
        transform("deep", "reduce range(700) as $i (0; [.])", error={"type": "ignore"}),
        transform("after", "$deep | type"),
        "start -> deep -> after",
    )

    ended = await lab.run(document)

    assert ("completed", "object") == (ended.status, ended.output("after"))
    assert "error" in ended.output("deep")


async def test_an_input_above_the_largest_message_still_runs(lab):
    ended = await lab.run(
        workflow(TRIGGER, transform("t", "$trigger | length"), "start -> t"), "x" * 12_000_000
    )

    assert 12_000_000 == ended.output("t")


async def test_an_error_message_of_twelve_megabytes_does_not_stop_the_run_from_ending(lab):
    document = workflow(
        TRIGGER, node("bad", "fail", message="$trigger"), "start -> bad"
    )  # fmt: skip

    ended = await lab.run(document, "x" * 12_000_000)

    assert ended.status in ("halted", "failed")


async def test_a_thousand_small_outputs_in_a_chain_are_all_there_at_the_end(lab):
    names = [f"n{i}" for i in range(1000)]
    document = workflow(
        TRIGGER, *(transform(name, "$input + 1") for name in names), " -> ".join(("start", *names))
    )

    ended = await lab.run(document, 0)

    assert list(range(1, 1001)) == [ended.output(name) for name in names]
