"""Expressions that never end, or grow without end: each is stopped, and others do not wait long."""

import asyncio

import pytest

from languages.serverless.lab import error_in, output_of, workflow
from onward.runtime.activity.evaluators import Evaluators

GET = {"call": "http", "with": {"method": "get", "endpoint": "http://pets/1"}}

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


@pytest.mark.parametrize(
    "hostile",
    [
        {"bad": {"set": {"n": "${ until(false; .) }"}}},
        {"bad": {**GET, "output": {"as": "${ [range(1e12)] }"}}},
        {"bad": {"if": "${ until(false; .) }", "set": {"n": 1}}},
    ],
    ids=["before an activity", "after an activity", "in a condition"],
)
async def test_others_go_on_for_as_long_as_an_expression_takes(lab, monkeypatch, hostile):
    """The answer to the long question is held back until another run has ended."""
    lab.services.answer("GET", "http://pets/1", {"n": 0})
    other_ended = asyncio.Event()
    answer = Evaluators.answer
    asked = []

    async def held_back(self, lengthy):
        asked.append(lengthy.source)
        await other_ended.wait()
        return await answer(self, lengthy)

    monkeypatch.setattr(Evaluators, "answer", held_back)
    other = workflow(*[{f"w{i}": {"wait": {"milliseconds": 0}}} for i in range(20)])
    async with lab.engine() as engine:
        bad = await lab.start(engine, workflow(hostile), {"n": 1})
        while not asked:
            await asyncio.sleep(0.001)
        fine = await lab.finish(engine, await lab.start(engine, other, {"n": 1}))
        other_ended.set()
        stopped = await lab.finish(engine, bad)

    assert {"n": 1} == output_of(fine)
    assert ("/do/0/bad", 400) == (
        error_in(stopped).details["instance"],
        error_in(stopped).details["status"],
    )
    assert 1 == len(asked)


async def test_a_long_expression_that_is_honest_ends_well(lab):
    """It is asked for once at each place, and what came before it is not done twice."""
    lab.services.answer("GET", "http://pets/1", {"n": 3})
    long = "[range(40000)] | map(. % 7) | add"
    document = workflow(
        {"first": {"set": {"a": f"${{ {long} }}"}}},
        {"get": {**GET, "output": {"as": f"${{ .n + $input.a + ({long}) }}"}}},
        {"last": {"set": {"n": "${ . }"}}},
    )

    ended = await lab.run(document)

    total = sum(n % 7 for n in range(40000))
    assert {"n": 3 + 2 * total} == output_of(ended)
    assert 1 == len(lab.services.requests)


async def test_a_run_that_is_cancelled_does_not_wait_for_its_expression(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, workflow({"bad": {"set": {"n": "${ until(false; .) }"}}}), {})
        assert await engine.cancel(run, "enough")
        ended = await engine.wait(run)

    assert "cancelled" == ended.status


async def test_hard_work_is_spread_over_messages(lab):
    """However much a loop computes, no message computes for long: others get their turns."""
    body = [{"sum": {"set": {"n": "${ .n + last(range(9000)) }"}}}]
    loop = {"for": {"in": "[range(40)]"}, "do": body}

    ended = await lab.run(workflow({"loop": loop}), {"n": 0})

    assert {"n": 40 * 8999} == output_of(ended)
    assert len({new.token_id for new in lab.news if hasattr(new, "token_id")}) >= 3


async def test_all_expressions_of_a_task_share_one_budget(lab):
    many = {f"k{i}": "${ last(range(15000)) }" for i in range(200)}

    ended = await lab.run(workflow({"bad": {"set": many}}))

    assert "what was evaluated before it" in error_in(ended).details["detail"]
