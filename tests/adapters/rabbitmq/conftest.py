"""A bus on a virtual host of the test's own, with the topology declared."""

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus


@pytest.fixture
async def bus(rabbitmq_url):
    one = RabbitBus(rabbitmq_url)
    await one.open()
    await one.declare()
    yield one
    await one.close()
