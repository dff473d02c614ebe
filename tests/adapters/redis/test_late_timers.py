"""A worker that was frozen goes on in a world that has moved."""

import asyncio

from redis.asyncio import Redis

from onward.adapters.redis.keys import Keys
from onward.adapters.redis.timers import RedisTimers


async def test_a_timer_that_is_set_after_its_run_has_ended_is_not_kept(redis_url):
    """
    Found by the chaos suite: a worker that was frozen between claim and SetTimer set the time-out
    of a merge for a run that others had meanwhile brought to its end. It stayed until it was due.
    """
    async with Redis.from_url(redis_url) as redis:
        done = Keys("run").done
        await redis.hset(done, "by", "somebody")

        await RedisTimers(redis).set("run", "patience", 3_600_000, b"a token")

        assert {done.encode()} == set(await redis.keys("*"))


async def test_a_timer_that_is_set_again_while_it_is_cancelled_is_still_the_runs(redis_url):
    """
    Found by the chaos suite: a worker on a copy of the message set the timer again between its
    removal and its unlisting. It was in no list any more, and outlived its run by an hour.
    """
    async with Redis.from_url(redis_url) as redis:
        timers = RedisTimers(redis)
        await timers.set("run", "patience", 3_600_000, b"a token")
        await asyncio.gather(
            timers.cancel("run", "patience"),
            timers.set("run", "patience", 3_600_000, b"a token"),
            timers.cancel("run", "other"),
        )

        listed = await redis.scard(Keys("run").timers)

        assert listed == await redis.zcard("scheduler:timers")
        await timers.cancel_all("run")
        assert [] == await redis.keys("*")
