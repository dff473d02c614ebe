"""Expressions that never end, or grow without end: each is stopped, and others do not wait long."""

import pytest

from serverless.lab import error_in, output_of, workflow

ENDLESS = [
    "def f: f; f",
    "[range(1e12)] | length",
    '"x" * 1e10',
    "[repeat(.)]",
    "last(range(1e15))",
]


@pytest.mark.parametrize("expression", ENDLESS)
async def test_an_endless_expression_is_stopped_while_other_runs_go_on(lab, expression):
    other = workflow(*[{f"w{i}": {"wait": {"milliseconds": 0}}} for i in range(20)])
    bad = workflow({"bad": {"set": {"n": f"${{ {expression} }}"}}})
    async with lab.engine() as engine:
        runs = [await lab.start(engine, other, {"n": 1}), await lab.start(engine, bad, {"n": 1})]
        fine, stopped = [await lab.finish(engine, run) for run in runs]

    assert {"n": 1} == output_of(fine)
    found = error_in(stopped).details
    assert ("/do/0/bad", 400) == (found["instance"], found["status"])
    assert found["type"].endswith("/expression")


async def test_an_endless_condition_of_a_loop_is_stopped_as_well(lab):
    loop = {"for": {"in": "[1]"}, "while": "def f: f; f", "do": [{"a": {"set": {"n": 1}}}]}

    ended = await lab.run(workflow({"loop": loop}))

    assert "/do/0/loop" == error_in(ended).details["instance"]
