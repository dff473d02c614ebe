"""A bus whose messages are counted, and one whose worker dies in the middle of everything."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.reconnect import ReconnectingConnection
from onward.ports.cluster.bus import Delivery
from onward.runtime.queues import COMPLETION, EXECUTION, RETRIES, TIMEOUT

MOVING = (EXECUTION, TIMEOUT, COMPLETION, *RETRIES)
"""Queues whose messages make something happen; all others only tell of it."""


class Traffic:
    """What is on its way between the processes of a cluster: all of them are counted here."""

    def __init__(self) -> None:
        self.flying = 0
        """Messages that were sent, are to move something, and are not acknowledged."""
        self.redelivered = 0
        """Messages that the broker delivered again."""
        self.bodies: list[bytes] = []
        """Every message."""


class CountedBus:
    """The broker, as one process sees it."""

    def __init__(self, bus: RabbitBus, traffic: Traffic) -> None:
        self.bus = bus
        self._traffic = traffic

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bus, name)

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Publish a message, which is on its way from now on."""
        self._traffic.bodies.append(body)
        self._traffic.flying += queue in MOVING
        try:
            await self.bus.publish(queue, body, priority=priority)
        except Exception:
            self._traffic.flying -= queue in MOVING
            raise

    async def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over deliveries."""
        async with aclosing(self.bus.consume(queue, prefetch=prefetch)) as deliveries:
            async for delivery in deliveries:
                self._traffic.redelivered += delivery.redelivered
                yield CountedDelivery(self, delivery, queue)

    async def settle(self, delivery: Delivery, queue: str) -> None:
        """Acknowledge a delivery, which has arrived."""
        self._traffic.flying -= queue in MOVING
        await delivery.ack()

    async def give_back(self, delivery: Delivery) -> None:
        """Return a delivery to its queue: it is still on its way."""
        await delivery.give_back()


class CountedDelivery:
    """One message in the hands of one process."""

    def __init__(self, bus: CountedBus, delivery: Delivery, queue: str) -> None:
        self.body = delivery.body
        self.redelivered = delivery.redelivered
        self._bus = bus
        self._delivery = delivery
        self._queue = queue
        self._settled = False

    async def ack(self) -> None:
        """Say that it is dealt with."""
        if not self._settled:
            self._settled = True
            await self._bus.settle(self._delivery, self._queue)

    async def give_back(self) -> None:
        """Return it to its queue."""
        if not self._settled:
            self._settled = True
            await self._bus.give_back(self._delivery)


class MortalBus(CountedBus):
    """The broker, as a worker sees it that will die: just before or after a word to anybody."""

    def __init__(self, bus: RabbitBus, traffic: Traffic) -> None:
        super().__init__(bus, traffic)
        self.dead = asyncio.Event()
        self._moments: int | None = None
        self._grave: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def die_after(self, moments: int | None) -> None:
        """Let the worker die at the moment of this number from now on; None: it lives."""
        self._moments = moments

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Publish a message, unless death comes before it."""
        await self.moment()
        await super().publish(queue, body, priority=priority)
        await self.moment()

    async def settle(self, delivery: Delivery, queue: str) -> None:
        """Acknowledge a delivery, unless death comes before it."""
        await self.moment()
        await super().settle(delivery, queue)
        await self.moment()

    async def give_back(self, delivery: Delivery) -> None:
        """Return a delivery to its queue; the dead do not: the broker finds out by itself."""
        if not self.dead.is_set():
            await super().give_back(delivery)

    async def moment(self) -> None:
        """Go on, unless this is the moment of death or later: the dead never go on."""
        if self._moments is not None and not self.dead.is_set():
            self._moments -= 1
            if self._moments <= 0:
                self.dead.set()
        if self.dead.is_set():
            await asyncio.shield(self._grave)

    async def cut(self) -> None:
        """Cut the connections of a worker that has died, without a word."""
        # What was said before the death has been heard: otherwise nobody could count it.
        await self.bus._publisher._idle.wait()
        consuming = await self.bus._consuming.connection()
        assert consuming is not None
        channel = await consuming.channel()
        await channel.find_queue(EXECUTION)
        for link in (self.bus._publishing, self.bus._consuming):
            await _cut(link)

    async def close(self) -> None:
        """Let nothing be left of a worker that has died."""
        self._grave.cancel()
        self.bus._consumers.close()
        await self.bus._publisher.close()


async def _cut(link: ReconnectingConnection) -> None:
    connection, supervisor = link._connection, link._supervisor
    assert connection is not None
    assert supervisor is not None
    supervisor.cancel()
    connection._wire._transport._sock.shutdown(socket.SHUT_RDWR)
    await asyncio.wait([connection.lost])
    await link.close()
