"""A user of the broker who may not do what is asked of it."""

import asyncio
import re
import secrets
from contextlib import aclosing

import pytest

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.ports.cluster.bus import BusError

QUEUE = "workflow.execution"


@pytest.fixture
def user(rabbitmq_server, rabbitmq_url):
    """Make users of the virtual host with some permissions; return the URL of each."""
    host, place = rabbitmq_url.rpartition("/")[2], rabbitmq_url.rpartition("@")[2]
    names = []

    def make(**permissions):
        name, password = f"onward-test-{secrets.token_hex(4)}", secrets.token_hex(8)
        names.append(name)
        rabbitmq_server.call("PUT", f"/users/{name}", {"password": password, "tags": ""})
        given = {"configure": "^$", "write": "^$", "read": "^$", **permissions}
        rabbitmq_server.call("PUT", f"/permissions/{host}/{name}", given)
        return f"amqp://{name}:{password}@{place}"

    yield make
    for name in names:
        rabbitmq_server.call("DELETE", f"/users/{name}")


@pytest.fixture
async def powerless(bus, user):
    """A bus whose user may connect to the virtual host, and nothing else."""
    one = RabbitBus(user())
    await one.open()
    yield one
    await one.close()


async def test_a_user_who_may_not_make_queues_uses_those_that_are_there(bus, user):
    url = user(write=r"^amq\.default$", read=rf"^{re.escape(QUEUE)}$")
    one = RabbitBus(url)
    await one.open()
    await one.declare()
    await one.publish(QUEUE, b"1")
    async with asyncio.timeout(60), aclosing(one.consume(QUEUE, prefetch=1)) as deliveries:
        delivery = await anext(deliveries)
        await delivery.ack()
    await one.close()

    assert b"1" == delivery.body


async def test_a_user_who_may_not_make_queues_is_told_which_is_missing(user):
    one = RabbitBus(user(write=".*", read=".*"))
    await one.open()

    with pytest.raises(BusError) as failed:
        await one.declare()
    await one.close()

    assert "has no queue workflow.quarantine, and this user may not make it" in str(failed.value)
    assert r"start once as a user who may configure `workflow\..*`" in str(failed.value)
    assert 1 == len(str(failed.value).splitlines())


async def test_publishing_without_permission_is_an_error_at_once(powerless):
    with pytest.raises(BusError, match="refused to publish: ACCESS_REFUSED"):
        await powerless.publish(QUEUE, b"{}")


async def test_consuming_without_permission_is_an_error_at_once(powerless):
    with pytest.raises(BusError, match=r"may not read workflow\.execution"):
        await anext(powerless.consume(QUEUE, prefetch=1))
