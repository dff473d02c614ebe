"""Timers: set once, leased to one scheduler, gone only when confirmed."""

import asyncio

import pytest
from redis.asyncio import Redis

from onward.adapters.redis.timers import CLAIM_BYTES, RedisTimers
from onward.ports.cluster.timers import DueTimer


@pytest.fixture
async def redis(redis_url):
    connection = Redis.from_url(redis_url)
    yield connection
    await connection.aclose()


@pytest.fixture
def timers(redis):
    return RedisTimers(redis)


async def test_the_first_setting_stands(timers):
    await timers.set("run", "t", 1_000, b"first")
    await timers.set("run", "t", 2_000, b"second")

    assert 1_000 == await timers.next_due()
    assert [DueTimer("t", "run", b"first")] == await timers.claim_due(1_000, 500, 10)


async def test_what_is_due_comes_earliest_first_and_nothing_else(timers):
    for name, due_ms in (("c", 30), ("a", 10), ("b", 20), ("later", 99)):
        await timers.set("run", name, due_ms, name.encode())

    due = await timers.claim_due(50, 500, 10)

    assert ["a", "b", "c"] == [timer.timer_id for timer in due]


async def test_a_leased_timer_is_nobody_elses_until_the_lease_runs_out(timers):
    await timers.set("run", "t", 10, b"x")
    assert 1 == len(await timers.claim_due(100, 500, 10))

    assert [] == await timers.claim_due(599, 500, 10)
    assert 600 == await timers.next_due()
    assert 1 == len(await timers.claim_due(600, 500, 10))


async def test_a_confirmed_timer_is_gone(timers, redis):
    await timers.set("run", "t", 10, b"x")
    await timers.confirm(await timers.claim_due(100, 500, 10))

    assert None is await timers.next_due()
    assert [] == await timers.claim_due(10_000, 500, 10)
    assert 0 == await redis.exists("scheduler:payloads", "scheduler:timers", "scheduler:processing")


async def test_competing_schedulers_never_share_a_timer(timers, redis):
    names = {f"t{n}" for n in range(500)}
    for name in names:
        await timers.set("run", name, 1, b"x")
    others = [RedisTimers(redis) for _ in range(4)]

    claimed = []
    while batch := await asyncio.gather(*(other.claim_due(5, 10_000, 20) for other in others)):
        if not any(batch):
            break
        claimed += [timer.timer_id for part in batch for timer in part]

    assert sorted(names) == sorted(claimed)


async def test_the_timers_of_a_run_that_ended_are_all_cancelled(timers, redis):
    for n in range(3):
        await timers.set("ended", f"t{n}", 10, b"x")
    await timers.set("other", "t0", 10, b"x")
    await timers.claim_due(10, 500, 1)

    await timers.cancel_all("ended")

    assert ["other"] == [due.state_id for due in await timers.claim_due(10_000, 1, 10)]
    assert [] == await redis.keys("exec:{ended}:*")


async def test_a_sleeping_scheduler_is_woken_by_an_earlier_timer(timers, redis):
    await timers.set("run", "far", 9_000, b"x")
    waiting = asyncio.create_task(timers.wait_for_earlier(9_000, 30))
    while not (await redis.pubsub_numsub("scheduler:wake"))[0][1]:
        await asyncio.sleep(0)

    await timers.set("run", "near", 5, b"x")

    async with asyncio.timeout(20):
        await waiting


async def test_a_timer_set_before_the_scheduler_sleeps_is_not_missed(timers):
    await timers.set("run", "near", 5, b"x")

    async with asyncio.timeout(20):
        await timers.wait_for_earlier(9_000, 30)


async def test_timers_that_are_later_let_it_sleep(timers):
    await timers.set("run", "far", 9_000, b"x")
    loop = asyncio.get_running_loop()
    began = loop.time()

    await timers.wait_for_earlier(9_000, 0.05)

    assert loop.time() - began >= 0.04


async def test_a_claim_takes_no_more_bytes_than_it_may_and_one_timer_at_least(timers):
    half = b"x" * (CLAIM_BYTES // 2)
    for name, body in (("a", half), ("b", half), ("c", b"y"), ("huge", 3 * half), ("last", b"z")):
        await timers.set("run", name, 10, body)

    claims = [[timer.timer_id for timer in await timers.claim_due(10, 500, 100)] for _ in range(5)]

    assert [["a", "b"], ["c"], ["huge"], ["last"], []] == claims


async def test_what_a_claim_had_no_room_for_keeps_its_lease(timers):
    large = b"x" * CLAIM_BYTES
    for name in ("a", "b"):
        await timers.set("run", name, 10, large)
        assert 1 == len(await timers.claim_due(10, 500, 1))

    claims = [[timer.timer_id for timer in await timers.claim_due(510, 500, 100)] for _ in range(3)]

    assert [["a"], ["b"], []] == claims


async def test_a_run_with_thousands_of_timers_is_cancelled_to_the_last(timers, redis):
    names = [f"t{n}" for n in range(2_500)]
    await asyncio.gather(*(timers.set("ended", name, 10, b"x") for name in names))
    await timers.set("other", "t0", 10, b"x")

    await timers.cancel_all("ended")

    assert ["other"] == [due.state_id for due in await timers.claim_due(10, 1, 10)]
    assert [] == await redis.keys("exec:{ended}:*")
    assert 1 == await redis.hlen("scheduler:payloads")
