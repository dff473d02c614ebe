"""The proxy passes on what it gets, until it is told to cut or to stall."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from benchmarks.chaos.proxy import Proxy


@asynccontextmanager
async def proxied():
    """A proxy in front of a server that repeats what it reads."""
    open_writers = []

    async def repeat(reader, writer):
        open_writers.append(writer)
        try:
            while data := await reader.read(100):
                writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    proxy = Proxy(server.sockets[0].getsockname()[1])
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()
        server.close()
        for writer in open_writers:
            writer.close()
        await server.wait_closed()


async def asked(stream, word: bytes) -> bytes:
    reader, writer = stream
    writer.write(word)
    return await reader.read(100)


async def ended(reader) -> bool:
    """Whether nothing more comes."""
    try:
        return b"" == await reader.read(100)
    except ConnectionError:
        return True


async def test_bytes_go_through_both_ways():
    async with proxied() as proxy:
        stream = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert b"one" == await asked(stream, b"one")
        assert 1 == proxy.connections
        stream[1].close()


async def test_a_cut_ends_every_connection_and_new_ones_work():
    async with proxied() as proxy:
        streams = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(2)]
        for stream in streams:
            await asked(stream, b"hello")
        assert 2 == proxy.cut_all()
        for reader, writer in streams:
            assert await ended(reader)
            writer.close()
        fresh = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert b"again" == await asked(fresh, b"again")
        fresh[1].close()


async def test_one_connection_can_be_cut_and_the_others_go_on():
    async with proxied() as proxy:
        streams = [await asyncio.open_connection("127.0.0.1", proxy.port) for _ in range(3)]
        for stream in streams:
            await asked(stream, b"hello")
        assert 1 == proxy.cut_one(random.Random(1))
        assert 2 == proxy.connections
        for stream in streams:
            stream[1].close()


@pytest.mark.parametrize("direction", ["to the service", "from the service"])
async def test_a_stall_keeps_bytes_back_and_then_delivers_them(direction):
    async with proxied() as proxy:
        stream = await asyncio.open_connection("127.0.0.1", proxy.port)
        await asked(stream, b"hello")
        stalling = asyncio.create_task(proxy.stall(direction, 0.2, then_cut=False))
        await asyncio.sleep(0)
        answer = await asked(stream, b"late")
        assert stalling.done()
        assert b"late" == answer
        stream[1].close()


async def test_a_service_that_is_away_resets_the_connection():
    async with proxied() as proxy:
        pass
    lonely = Proxy(proxy._target_port)
    await lonely.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", lonely.port)
    assert await ended(reader)
    writer.close()
    await lonely.close()
