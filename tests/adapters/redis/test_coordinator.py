"""The scripts in Redis answer as the pure state machine does, and leave nothing behind."""

import asyncio
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from contract.test_coordination_differential import LINEAGES, claims, questions
from kernel.builders import completion, fill, item, leave, scatter, token
from onward.kernel.effects import Close, Forget, Values
from onward.kernel.lineage import scope_of
from onward.kernel.verdicts import CLOSED, Execute, Finish
from support.coordinators import InMemory, InRedis

LINEAGE_OF = {scope_of(lineage): lineage for lineage in LINEAGES}
numbers = count()


@pytest.fixture
def server(redis_url):
    """An event loop and a connection that live as long as the test."""
    loop = asyncio.new_event_loop()
    redis = Redis.from_url(redis_url)
    yield loop, redis
    loop.run_until_complete(redis.aclose())
    loop.close()


def gone(memory, effect):
    """Is the scope of the question closed? Then no honest worker asks, and no answer matters."""
    lineage = LINEAGE_OF.get(getattr(effect, "scope", ""), ())
    if getattr(effect, "split", "") == "z":
        lineage = item("s", 1)  # where the inner split is, as `questions` has it
    return bool(lineage) and memory._coordination._closed(lineage, "nobody") is not None


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(claims() | questions(), min_size=5, max_size=30))
def test_redis_gives_the_answers_of_the_state_machine(server, steps):
    """
    Whatever is asked in whatever order, the Lua scripts and the Python rules agree.
    """
    memory, stored = InMemory(), InRedis(*server, f"x{next(numbers)}")

    for how, what in steps:
        if how == "answer" and gone(memory, what):
            continue
        assert getattr(memory, how)(what) == getattr(stored, how)(what)


def test_a_run_that_is_forgotten_leaves_only_its_tombstone(server):
    loop, redis = server
    run = InRedis(loop, redis, "gone")
    run.claim(token("t", siblings=2))
    run.answer(scatter("s", total=2))
    run.claim(token("i", lineage_stack=item("s", 0)))
    run.answer(leave("i", item("s", 0), value=b"1"))
    run.answer(Close(by="t", unit="t", message=completion()))

    run.answer(Forget())

    assert [b"exec:{gone}:done"] == loop.run_until_complete(redis.keys("*"))
    assert 0 < loop.run_until_complete(redis.ttl("exec:{gone}:done"))
    assert CLOSED == run.claim(token("late"))


def test_whoever_dies_while_forgetting_does_it_once_more(server):
    """
    Everybody else is refused meanwhile, so nothing is written that would be left behind.
    """
    loop, redis = server
    run = InRedis(loop, redis, "half")
    run.claim(token("t", siblings=2))
    run.answer(Close(by="t", unit="t", message=completion()))
    loop.run_until_complete(redis.hset("exec:{half}:done", "forgetting", "1"))

    assert CLOSED == run.claim(token("other"))
    run.answer(scatter("s", total=2))
    assert Finish(0) == run.claim(token("t", siblings=2))
    assert completion() == run.answer(Close(by="t"))

    run.answer(Forget())
    assert [b"exec:{half}:done"] == loop.run_until_complete(redis.keys("*"))


def test_a_server_that_forgot_the_scripts_gets_them_again(server):
    loop, redis = server
    run = InRedis(loop, redis, "forgetful")
    assert Execute() == run.claim(token("a"))

    loop.run_until_complete(redis.script_flush())

    assert Execute() == run.claim(token("a"))


def test_more_questions_at_once_than_fit_one_round_trip_are_all_answered(server):
    loop, redis = server
    run = InRedis(loop, redis, "many")

    async def ask():
        coordinator = run._coordinator
        tokens = [token(f"t{n}", parent=f"p{n}", execution_id="many") for n in range(1_200)]
        return await asyncio.gather(*map(coordinator.claim, tokens))

    verdicts = loop.run_until_complete(ask())

    assert 1_200 == len(verdicts)
    assert {Execute()} == set(verdicts)


def test_keys_of_a_living_run_never_expire(server):
    loop, redis = server
    run = InRedis(loop, redis, "alive")
    run.claim(token("t", siblings=2))
    run.answer(scatter("s", total=2))

    keys = loop.run_until_complete(redis.keys("exec:{alive}:*"))

    assert keys
    assert {-1} == {loop.run_until_complete(redis.ttl(key)) for key in keys}


def test_an_item_that_is_over_takes_the_splits_inside_it_out_of_the_run(server):
    """
    Or else a run would keep a name for each of a hundred thousand inner splits until it ends.
    """
    loop, redis = server
    run = InRedis(loop, redis, "nested")
    run.claim(token("t"))
    run.answer(scatter("s", total=2))
    run.claim(token("i", lineage_stack=item("s", 0)))
    run.answer(scatter("inner", total=1, outside=item("s", 0)))
    assert b"inner" in loop.run_until_complete(redis.smembers("exec:{nested}:groups"))

    run.answer(fill(0, by="i"))

    assert {b"", b"s"} == loop.run_until_complete(redis.smembers("exec:{nested}:groups"))


def test_a_run_with_thousands_of_scopes_is_forgotten_without_a_giant_answer(server):
    loop, redis = server
    run = InRedis(loop, redis, "wide")
    run.claim(token("t"))
    run.answer(scatter("s", total=2_500, window=2_500))

    async def claim_items():
        lineages = [item("s", index, 2_500) for index in range(2_500)]
        tokens = [
            token(f"i{n}", parent=f"p{n}", lineage_stack=lineage, execution_id="wide")
            for n, lineage in enumerate(lineages)
        ]
        await asyncio.gather(*map(run._coordinator.claim, tokens))

    loop.run_until_complete(claim_items())
    run.answer(Close(by="t", unit="t", message=completion()))

    run.answer(Forget())

    assert [b"exec:{wide}:done"] == loop.run_until_complete(redis.keys("*"))


@pytest.mark.parametrize("size", [3, 40_000])
def test_the_values_of_a_barrier_are_read_in_pages_and_in_order(server, size):
    loop, redis = server
    run = InRedis(loop, redis, "values")
    run.claim(token("t"))
    run.answer(scatter("s", total=180, window=180))
    expected = [bytes([65 + index % 26]) * size for index in range(180)]
    for index, value in enumerate(expected):
        run.answer(fill(index, value=value))

    assert expected == run.answer(Values(split="s"))
