"""A user of the broker who may not do what is asked of it."""

import secrets

import pytest

from weft.adapters.rabbitmq.bus import RabbitBus
from weft.ports.bus import BusError

QUEUE = "workflow.execution"


@pytest.fixture
async def powerless(bus, rabbitmq_server, rabbitmq_url):
    """A bus whose user may connect to the virtual host, and nothing else."""
    name, password = f"weft-test-{secrets.token_hex(4)}", secrets.token_hex(8)
    host = rabbitmq_url.rpartition("/")[2]
    rabbitmq_server.call("PUT", f"/users/{name}", {"password": password, "tags": ""})
    nothing = {"configure": "", "write": "", "read": ""}
    rabbitmq_server.call("PUT", f"/permissions/{host}/{name}", nothing)
    place = rabbitmq_url.rpartition("@")[2]
    one = RabbitBus(f"amqp://{name}:{password}@{place}")
    await one.open()
    yield one
    await one.close()
    rabbitmq_server.call("DELETE", f"/users/{name}")


async def test_declaring_without_permission_names_the_permission(powerless):
    with pytest.raises(BusError, match=r"refused to declare .* permission to configure"):
        await powerless.declare()


async def test_publishing_without_permission_is_an_error_at_once(powerless):
    with pytest.raises(BusError, match="refused to publish: ACCESS_REFUSED"):
        await powerless.publish(QUEUE, b"{}")


async def test_consuming_without_permission_is_an_error_at_once(powerless):
    with pytest.raises(BusError, match=r"may not read workflow\.execution"):
        await anext(powerless.consume(QUEUE, prefetch=1))
