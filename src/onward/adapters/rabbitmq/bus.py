"""The bus on RabbitMQ: `RabbitBus` ties the publisher and the consumers to their connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from onward.adapters.rabbitmq.address import read_address
from onward.adapters.rabbitmq.amqp import LostError
from onward.adapters.rabbitmq.consumer import Consumers
from onward.adapters.rabbitmq.publisher import Publisher
from onward.adapters.rabbitmq.reconnect import ReconnectingConnection
from onward.adapters.rabbitmq.topology import MAX_PRIORITY, Topology, declare, default_message_limit
from onward.ports.cluster.bus import Bus, BusError, BusUnavailableError, Delivery
from onward.ports.nodes.outside import Log


class RabbitBus:
    """A broker behind two connections: one to publish, one to consume.

    They are separate because a broker that is short of memory or disk stops reading from those
    that publish, and acknowledgements must still get through to make room. The second is made when
    something is first consumed.
    """

    def __init__(
        self,
        url: str,
        *,
        topology: Topology | None = None,
        publish_timeout_s: float = 10,
        max_message_bytes: int | None = None,
        log: Log | None = None,
    ) -> None:
        """Raise BusError for a URL that is wrong. Without `max_message_bytes`, the default of the
        broker's version counts.
        """
        address = read_address(url)
        self._topology = topology or Topology()
        self._max_message_bytes = max_message_bytes
        self._server_version = ""
        self._publishing = ReconnectingConnection(address, "publish", log)
        self._consuming = ReconnectingConnection(address, "consume", log)
        self._publisher = Publisher(self._publishing, timeout_s=publish_timeout_s)
        self._consumers = Consumers(self._consuming, log)

    @property
    def server_version(self) -> str:
        """The broker's version; empty before `open`."""
        return self._server_version

    @property
    def unusable(self) -> str | None:
        """Why nothing can be published or consumed now; None when all is well."""
        return self._publishing.unusable or self._consuming.unusable

    @property
    def reconnects(self) -> int:
        """How often a lost connection was replaced."""
        return self._publishing.reconnects + self._consuming.reconnects

    async def open(self) -> None:
        """Connect, or raise BusError with the reason and the remedy. Call it before anything else;
        it may be tried again.
        """
        await self._publishing.open()
        connection = await self._publishing.connection()
        if connection is not None:
            self._server_version = connection.server_version
        if self._max_message_bytes is None:
            self._max_message_bytes = default_message_limit(self._server_version)
        self._publisher.max_message_bytes = self._max_message_bytes
        self._publisher.start()

    async def declare(self) -> None:
        """Make the queues that are missing; raise BusError for one that has other arguments.

        For a user who may not make any, it is enough that they are there.
        """
        connection = await self._publishing.connection()
        if connection is None:
            raise BusError("cannot declare the queues: the bus is closed")
        try:
            await declare(connection.channel, self._topology)
        except LostError as lost:
            raise BusUnavailableError(
                f"lost the connection while declaring the queues: {lost}"
            ) from None

    async def depth(self, queue: str) -> int:
        """Return how many messages of a queue are ready, delivered to no consumer."""
        connection = await self._publishing.connection()
        if connection is None:
            raise BusError("cannot read the queues: the bus is closed")
        try:
            channel = await connection.channel()
            try:
                return await channel.find_queue(queue)
            finally:
                channel.close()
        except LostError as lost:
            raise BusUnavailableError(
                f"lost the connection while reading {queue}: {lost}"
            ) from None

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Return when the broker has confirmed that `queue` holds the message.

        A priority beyond 0 to 10 counts as the nearest of them.
        """
        await self._publisher.publish(queue, body, min(max(priority, 0), MAX_PRIORITY))

    def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over deliveries, at most `prefetch` of them not yet acknowledged.

        Raises BusError when the queue is not there or may not be read. Leaving the iteration gives
        back what it had not yet handed out; deliveries in hand can still be acknowledged.
        """
        self._consuming.start()
        return self._consumers.deliveries(queue, prefetch)

    async def close(self) -> None:
        self._consumers.close()
        await self._publisher.close()
        await self._publishing.close()
        await self._consuming.close()


_conforms: type[Bus] = RabbitBus
