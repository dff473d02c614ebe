"""Disconnecting from a broker that no longer answers."""

import asyncio
from contextlib import suppress

from onward.adapters.rabbitmq import amqp
from onward.adapters.rabbitmq.address import read_address
from support.leaks import every_loop, left_open


class Relay:
    """Forwards to the broker until it is frozen."""

    def __init__(self, host, port):
        self._broker = host, port
        self._tasks = []
        self._writers = []
        self.frozen = False

    async def open(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def close(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        broker_reader, broker_writer = await asyncio.open_connection(*self._broker)
        self._writers += [writer, broker_writer]
        for source, sink in ((reader, broker_writer), (broker_reader, writer)):
            self._tasks.append(asyncio.create_task(self._pump(source, sink)))

    async def _pump(self, source, sink):
        while data := await source.read(65536):
            if not self.frozen:
                sink.write(data)


@every_loop
def test_the_socket_of_a_broker_that_hangs_is_closed(rabbitmq_url, loop_factory, monkeypatch):
    monkeypatch.setattr(amqp, "_GOODBYE_S", 0.1)
    parameters = read_address(rabbitmq_url).parameters

    async def hang():
        relay = Relay(parameters.host, parameters.port)
        parameters_of_relay = read_address(rabbitmq_url).parameters
        parameters_of_relay.host, parameters_of_relay.port = "127.0.0.1", await relay.open()
        connection = await amqp.connect(parameters_of_relay, 30)
        relay.frozen = True
        await connection.close()
        assert connection.lost.done()
        await relay.close()

    assert [] == left_open(hang, loop_factory)
