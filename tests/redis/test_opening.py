"""A Redis that would lose runs is refused, with the remedy and without the password."""

import pytest
from redis.asyncio import Redis

from services.redis import start_redis
from weft.adapters.redis.opening import open_redis
from weft.errors import StorageError


class Lines:
    """A log that keeps its lines."""

    def __init__(self):
        self.lines = []

    def write(self, level, message, **fields):
        self.lines.append((level, message))


async def test_a_server_that_keeps_everything_is_taken_without_a_word(redis_url):
    log = Lines()

    redis = await open_redis(redis_url, log)

    assert await redis.ping()
    await redis.aclose()


async def test_nobody_there_is_one_line_with_the_place_and_no_password():
    with pytest.raises(StorageError) as refused:
        await open_redis("redis://user:hunter2@127.0.0.1:1/0", Lines())

    assert "127.0.0.1:1" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_url_of_something_else_is_refused():
    with pytest.raises(StorageError, match="not a Redis URL"):
        await open_redis("http://example.org/", Lines())


async def test_a_server_that_evicts_keys_is_refused_with_the_remedy():
    url, kept = start_redis()
    admin = Redis.from_url(url)
    try:
        await admin.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StorageError, match="CONFIG SET maxmemory-policy noeviction"):
            await open_redis(url, Lines())
    finally:
        await admin.aclose()
        kept.end()
