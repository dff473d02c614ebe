"""Long evaluations in processes of their own, whatever happens to those."""

import asyncio
import os
import signal

import pytest

from onward.expressions import compile_jq
from onward.expressions.time_slice import TimeSlice, TimeSliceExceeded, within_time_slice
from onward.runtime.activity.evaluators import Evaluators


@pytest.fixture
async def evaluators():
    made = Evaluators()
    yield made
    await made.aclose()


def question(source, data=None):
    with pytest.raises(TimeSliceExceeded) as caught, within_time_slice(TimeSlice()):
        compile_jq(source).evaluate(data, {})
    return caught.value


async def test_a_question_is_answered(evaluators):
    found = await evaluators.answer(question("last(range(200000)) + .", 1))

    assert (200_000, None) == (found.value, found.error)


async def test_an_endless_expression_is_answered_with_its_limit(evaluators):
    found = await evaluators.answer(question("until(false; .)"))

    assert "EXPRESSION_LIMIT" == found.error[1]
    assert "needs more than 2000000 steps" in found.error[0]


async def test_the_loop_turns_while_an_expression_is_evaluated(evaluators):
    turns = 0
    asked = asyncio.create_task(evaluators.answer(question("until(false; .)")))
    while not asked.done():
        turns += 1
        await asyncio.sleep(0.001)

    assert turns > 10


async def test_a_process_is_used_again(evaluators):
    await evaluators.answer(question("last(range(50000))"))
    (first,) = evaluators._pool.idle
    await evaluators.answer(question("last(range(60000))"))

    assert [first] == evaluators._pool.idle


async def test_a_process_that_was_killed_is_replaced(evaluators):
    await evaluators.answer(question("last(range(50000))"))
    os.kill(evaluators._pool.idle[0].child.pid, signal.SIGKILL)

    found = await evaluators.answer(question("last(range(60000))"))

    assert 59_999 == found.value


async def test_an_evaluation_whose_processes_die_is_an_error_and_no_end(evaluators):
    evaluators._pool.command = ("false",)

    found = await evaluators.answer(question("last(range(50000))"))

    assert "EXPRESSION_LIMIT" == found.error[1]
    assert "was killed" in found.error[0]


async def test_an_evaluation_that_nobody_waits_for_ends_with_its_process(evaluators, monkeypatch):
    started = []
    take = evaluators._pool._take

    async def noted():
        started.append(await take())
        return started[-1]

    monkeypatch.setattr(evaluators._pool, "_take", noted)
    asked = asyncio.create_task(evaluators.answer(question("until(false; .)")))
    while not started:
        await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    assert [-signal.SIGKILL] == [process.child.returncode for process in started]
    assert [] == evaluators._pool.idle


async def test_work_that_asks_is_done_again_with_every_answer(evaluators):
    sources = ["last(range(30000))", "last(range(40000))", "1 + 1"]
    seen = []

    async def work(pace):
        seen.append(pace)
        with within_time_slice(pace):
            return [compile_jq(source).evaluate(None, {}) for source in sources]

    assert [29_999, 39_999, 2] == await evaluators.run_with_answers(work)
    assert 3 == len(seen)
