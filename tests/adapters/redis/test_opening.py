"""A Redis that would lose runs is refused, with the remedy and without the password."""

import asyncio

import pytest
from redis.asyncio import Redis

from onward.adapters.redis.connection import open_redis
from onward.errors import StorageError, StorageUnavailableError, UnavailableError


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
    with pytest.raises(StorageUnavailableError) as refused:
        await open_redis("redis://user:hunter2@127.0.0.1:1/0", Lines())

    assert "127.0.0.1:1" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://example.org/", "redis:/nowhere", "localhost", ""])
async def test_a_url_of_something_else_is_refused(url):
    with pytest.raises(StorageError, match="not a Redis URL"):
        await open_redis(url, Lines())


def stand_in(greets, version):
    """Return how a server of that version answers, as far as it is asked."""

    async def answer(reader, writer):
        facts = f"redis_version:{version}\r\n".encode()
        while line := await reader.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2].upper())
            if words[0] == b"INFO":
                writer.write(b"$%d\r\n%s\r\n" % (len(facts), facts))
            elif words[0] == b"HELLO":
                # redis-py asks for the third protocol; a map of one entry will do.
                known = b"%1\r\n$5\r\nproto\r\n:3\r\n"
                writer.write(known if greets else b"-ERR unknown command `HELLO`\r\n")
            else:
                writer.write(b"+OK\r\n")
        writer.close()

    return answer


@pytest.mark.parametrize(
    ("greets", "version", "told"), [(True, "6.2.14", "6.2.14"), (False, "5.0.3", "older than 6")]
)
async def test_a_server_that_is_too_old_is_refused_with_the_remedy(greets, version, told):
    async with await asyncio.start_server(stand_in(greets, version), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StorageError) as refused:
            await open_redis(f"redis://127.0.0.1:{port}/0", Lines())

    expected = (
        f"Redis at 127.0.0.1:{port} is version {told}; 7.0 or newer is needed: upgrade it, or use"
        " another"
    )
    assert expected == str(refused.value)


async def test_a_server_that_is_full_may_have_room_later(own_redis):
    async with Redis.from_url(own_redis) as admin:
        await admin.config_set("maxmemory", "100")
        with pytest.raises(StorageUnavailableError, match="has no memory left: raise maxmemory"):
            await open_redis(own_redis, Lines())
        await admin.config_set("maxmemory", "0")


async def test_a_database_that_the_server_does_not_have_is_refused(own_redis):
    with pytest.raises(StorageError, match="DB index is out of range") as refused:
        await open_redis(f"{own_redis}/99999", Lines())

    assert not isinstance(refused.value, UnavailableError)


async def test_a_server_that_evicts_keys_is_refused_with_the_remedy(own_redis):
    async with Redis.from_url(own_redis) as admin:
        await admin.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StorageError, match="CONFIG SET maxmemory-policy noeviction"):
            await open_redis(own_redis, Lines())
        await admin.config_set("maxmemory-policy", "noeviction")
