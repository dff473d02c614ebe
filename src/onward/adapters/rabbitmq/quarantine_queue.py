"""The quarantine queue: messages that wait there for a decision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from onward.adapters.rabbitmq.address import CONNECT_TIMEOUT_S, read_address, unreachable
from onward.adapters.rabbitmq.amqp import Channel, ChannelRefusedError, LostError, connect
from onward.ports.cluster.bus import BusError, Delivery
from onward.ports.cluster.inspection import QuarantineQueue


class _QuarantinedDelivery:
    """A `Delivery` taken from the queue."""

    def __init__(self, channel: Channel, tag: int, redelivered: bool, body: bytes) -> None:
        self._channel = channel
        self._tag = tag
        self.redelivered = redelivered
        self.body = body

    async def ack(self) -> None:
        if self._channel.is_open:
            self._channel.ack([self._tag])

    async def give_back(self) -> None:
        if self._channel.is_open:
            self._channel.give_back(self._tag)


class RabbitQuarantineQueue:
    """A `QuarantineQueue` with a connection of its own. While it is open, others find it empty."""

    def __init__(self, channel: Channel, queue: str) -> None:
        self._channel = channel
        self._queue = queue

    async def take(self) -> list[Delivery]:
        taken: list[Delivery] = []
        try:
            while (found := await self._channel.get(self._queue)) is not None:
                taken.append(_QuarantinedDelivery(self._channel, *found))
        except LostError as lost:
            raise BusError(f"lost the connection while reading {self._queue}: {lost}") from None
        except ChannelRefusedError as refused:
            raise BusError(f"RabbitMQ does not let {self._queue} be read: {refused.text}") from None
        return taken


@asynccontextmanager
async def open_quarantine_queue(url: str, queue: str) -> AsyncIterator[RabbitQuarantineQueue]:
    """Open a queue; messages that are not settled are back in it when the context is left."""
    address = read_address(url)
    try:
        connection = await connect(address.parameters, CONNECT_TIMEOUT_S)
    except Exception as problem:  # the client library has no common root for these
        raise unreachable(address, problem) from None
    try:
        yield RabbitQuarantineQueue(await connection.channel(), queue)
    finally:
        await connection.close()


_conforms: type[QuarantineQueue] = RabbitQuarantineQueue
