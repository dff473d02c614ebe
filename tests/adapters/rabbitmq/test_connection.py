"""Connections that fail, break and come back."""

import asyncio
import socket
from contextlib import aclosing

import pytest

from onward.adapters.rabbitmq.address import read_address
from onward.adapters.rabbitmq.amqp import connect
from onward.adapters.rabbitmq.bus import RabbitBus
from onward.ports.cluster.bus import BusError
from services.process import free_port

QUEUE = "workflow.execution"


def raw_socket(link) -> socket.socket:
    return link._connection._wire._transport._sock


def cut(link) -> None:
    """Close the TCP connection under a link, both ways, without a word of AMQP."""
    raw_socket(link).shutdown(socket.SHUT_RDWR)


async def test_small_packets_are_sent_at_once(bus):
    """
    Without TCP_NODELAY a confirm takes 40 ms.
    """
    assert 1 == raw_socket(bus._publishing).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_unacknowledged_messages_come_again_after_the_connection_is_lost(bus):
    await bus.publish(QUEUE, b"1")
    async with asyncio.timeout(60), aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
        first = await anext(deliveries)
        cut(bus._consuming)
        again = await anext(deliveries)
        await first.ack()  # stale: it must not acknowledge anything on the new connection
        await again.give_back()
        third = await anext(deliveries)

    assert [(b"1", False), (b"1", True), (b"1", True)] == [
        (delivery.body, delivery.redelivered) for delivery in (first, again, third)
    ]


async def test_publishes_on_the_way_when_the_connection_is_lost_are_all_delivered(bus):
    bodies = {b"%d" % n for n in range(500)}
    publishes = [asyncio.create_task(bus.publish(QUEUE, body)) for body in bodies]
    await asyncio.sleep(0)
    cut(bus._publishing)
    async with asyncio.timeout(60):
        await asyncio.gather(*publishes)
        seen = set()
        async with aclosing(bus.consume(QUEUE, prefetch=1000)) as deliveries:
            while seen != bodies:
                seen.add((await anext(deliveries)).body)

    assert bodies == seen


async def test_a_publish_while_there_is_no_connection_waits_for_one(bus):
    cut(bus._publishing)

    async with asyncio.timeout(60):
        await bus.publish(QUEUE, b"1")
        async with aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
            assert b"1" == (await anext(deliveries)).body


async def test_a_port_where_nobody_listens_is_one_clear_line():
    port = free_port()
    bus = RabbitBus(f"amqp://onward:hush@127.0.0.1:{port}/")

    with pytest.raises(BusError) as failed:
        await bus.open()
    await bus.close()

    expected = (
        f"RabbitMQ at 127.0.0.1:{port} refused the connection; start the broker, or correct the URL"
    )
    assert expected == str(failed.value)


async def test_a_wrong_password_is_one_clear_line_without_it(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url.replace("guest:guest", "guest:hush"))

    with pytest.raises(BusError, match="denied user 'guest'") as failed:
        await bus.open()
    await bus.close()

    assert "hush" not in str(failed.value)
    assert 1 == len(str(failed.value).splitlines())


async def test_a_virtual_host_that_does_not_exist_is_named(rabbitmq_url):
    bus = RabbitBus(rabbitmq_url + "-not")

    with pytest.raises(BusError, match=r"virtual host 'onward-test-\w+-not' does not exist"):
        await bus.open()
    await bus.close()


async def test_a_host_that_does_not_exist_is_named():
    bus = RabbitBus("amqp://guest:guest@nowhere.invalid/")

    with pytest.raises(BusError, match=r"the host 'nowhere\.invalid' is not known"):
        await bus.open()
    await bus.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:5672",
        "http://guest:hush@localhost",
        "amqp://",
        "amqp://guest:hush@localhost:port/",
        "amqp://guest:hush@localhost/?heartbeat=soon",
    ],
)
def test_a_url_that_is_wrong_says_so_without_the_password(url):
    with pytest.raises(BusError, match="the RabbitMQ URL") as failed:
        RabbitBus(url)

    assert "hush" not in str(failed.value)


async def test_something_that_is_no_broker_is_said_to_be_none():
    async def greet(_, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    bus = RabbitBus(f"amqp://guest:guest@127.0.0.1:{port}/")

    with pytest.raises(BusError, match=rf"127\.0\.0\.1:{port}"):
        await bus.open()
    await bus.close()
    server.close()
    await server.wait_closed()


async def test_an_attempt_to_connect_can_be_given_up(caplog):
    """
    The other side takes the connection and says nothing.
    """
    arrived, left = asyncio.Event(), asyncio.Event()

    async def stay_silent(reader, writer):
        arrived.set()
        await reader.read()
        writer.close()
        left.set()

    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    bus = RabbitBus(f"amqp://guest:guest@127.0.0.1:{port}/")
    opening = asyncio.create_task(bus.open())
    async with asyncio.timeout(60):
        await arrived.wait()
        opening.cancel()
        await asyncio.wait([opening])
        await bus.close()
        await left.wait()
    server.close()
    await server.wait_closed()

    assert opening.cancelled()
    assert [] == caplog.records


def test_it_runs_on_uvloop_too(rabbitmq_url):
    uvloop = pytest.importorskip("uvloop")

    async def there_and_back() -> bytes:
        bus = RabbitBus(rabbitmq_url)
        await bus.open()
        await bus.declare()
        await bus.publish(QUEUE, b"1")
        async with aclosing(bus.consume(QUEUE, prefetch=1)) as deliveries:
            body = (await anext(deliveries)).body
        await bus.close()
        return body

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert b"1" == runner.run(there_and_back())


async def test_the_version_of_the_broker_is_known_after_the_connection_is_lost(rabbitmq_url):
    """
    A connection that is cut right after the greeting must not end the process that asks for it.
    """
    connection = await connect(read_address(rabbitmq_url).parameters, 10)
    before = connection.server_version
    await connection.close()

    assert before == connection.server_version
    assert before[0].isdigit()
