"""A broker that goes away while somebody says hello."""

import asyncio

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.ports.cluster.bus import BusUnavailableError


async def test_a_connection_that_is_closed_before_the_first_byte_may_be_better_later():
    """
    Found by the chaos suite: behind a balancer, a broker that restarts accepts and closes. A worker
    that started just then gave up at once with code 7 instead of waiting.
    """

    async def close(_, writer):
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BusUnavailableError):
            await RabbitBus(f"amqp://guest:guest@127.0.0.1:{port}/").open()
