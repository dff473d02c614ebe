"""A worker that was frozen goes on in a world that has moved."""

from redis.asyncio import Redis

from weft.adapters.redis.keys import Keys
from weft.adapters.redis.timers import RedisTimers


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
