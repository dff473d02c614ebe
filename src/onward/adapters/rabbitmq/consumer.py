"""Consumers: deliveries as an iterator that survives lost connections."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from itertools import takewhile

from onward.adapters.rabbitmq.amqp import (
    NOT_ALLOWED,
    NOT_FOUND,
    Channel,
    ChannelRefusedError,
    LostError,
)
from onward.adapters.rabbitmq.reconnect import ReconnectingConnection
from onward.ports.cluster.bus import BusError, Delivery
from onward.ports.nodes.outside import Log

_PAUSE_S = 0.1
_LONG_PAUSE_S = 1.0


class RabbitDelivery:
    """One message. Settling it twice, or after its channel is gone, has no effect."""

    __slots__ = ("_subscription", "_tag", "body", "redelivered")

    def __init__(
        self, subscription: _Subscription, tag: int, redelivered: bool, body: bytes
    ) -> None:
        self._subscription = subscription
        self._tag = tag
        self.redelivered = redelivered
        self.body = body

    async def ack(self) -> None:
        self._subscription.settle(self._tag, done=True)

    async def give_back(self) -> None:
        self._subscription.settle(self._tag, done=False)


class _Subscription:
    """One consumer on one channel of its own; it ends, and another takes its place."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._inbox: deque[RabbitDelivery] = deque()
        self._held: dict[int, None] = {}
        """Deliveries that are not settled, in the order they came."""
        self._done: set[int] = set()
        """Deliveries that are acknowledged at the end of this turn of the event loop."""
        self._consumer = ""
        self._changed = asyncio.Event()
        self._ended = False
        self.refused: ChannelRefusedError | None = None
        """Why the broker closed the channel, if it did."""

    async def start(self, queue: str, prefetch: int) -> None:
        self._channel.on_closed = self._on_closed
        self._consumer = await self._channel.consume(
            queue, prefetch, self._on_delivery, self._on_cancelled
        )

    async def next(self) -> RabbitDelivery | None:
        """Return the next delivery; None when no more will come."""
        while not self._inbox:
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._inbox.popleft()

    def settle(self, tag: int, *, done: bool) -> None:
        if tag not in self._held or tag in self._done:
            return
        if done:
            if not self._done:
                asyncio.get_running_loop().call_soon(self._acknowledge)
            self._done.add(tag)
            return
        del self._held[tag]
        if self._channel.is_open:
            self._channel.give_back(tag)
            self._leave_when_empty()

    def _acknowledge(self) -> None:
        """Acknowledge the oldest all at once, and one by one those that overtook others."""
        done, self._done = self._done, set()
        first = 0
        for tag in takewhile(done.__contains__, self._held):
            first = tag
        for tag in done:
            self._held.pop(tag, None)
        if self._channel.is_open:
            self._channel.ack([tag for tag in done if tag > first], up_to=first)
            self._leave_when_empty()

    def stop(self) -> None:
        """Take no more, return what was not handed out; deliveries in use can still be settled."""
        if not self._ended and self._consumer and self._channel.is_open:
            self._channel.stop_consuming(self._consumer)
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._changed.set()
        unseen, self._inbox = self._inbox, deque()
        for delivery in unseen:
            self.settle(delivery._tag, done=False)
        self._leave_when_empty()

    def _leave_when_empty(self) -> None:
        # Closing the channel earlier would return to the queue what is still being worked on.
        if self._ended and not self._held:
            self._channel.close()

    def _on_delivery(self, tag: int, redelivered: bool, body: bytes) -> None:
        self._held[tag] = None
        if self._ended:
            self.settle(tag, done=False)
            return
        self._inbox.append(RabbitDelivery(self, tag, redelivered, body))
        self._changed.set()

    def _on_cancelled(self) -> None:
        self._end()

    def _on_closed(self, reason: Exception) -> None:
        if isinstance(reason, ChannelRefusedError):
            self.refused = reason
        self._held.clear()
        self._done.clear()
        self._end()


class Consumers:
    """Every consumer of one link."""

    def __init__(self, link: ReconnectingConnection, log: Log | None) -> None:
        self._link = link
        self._log = log
        self._live: set[_Subscription] = set()
        self._closed = False

    async def deliveries(self, queue: str, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over the deliveries of `queue` until this is closed."""
        while not self._closed:
            subscription = await self._subscribe(queue, prefetch)
            if subscription is None:
                return
            self._live.add(subscription)
            try:
                while (delivery := await subscription.next()) is not None:
                    yield delivery
            finally:
                self._live.discard(subscription)
                subscription.stop()
            if subscription.refused is not None:
                why = subscription.refused.text
                self._warn(f"RabbitMQ closed the consumer of {queue}: {why}")

    def close(self) -> None:
        """End every iterator."""
        self._closed = True
        for subscription in tuple(self._live):
            subscription.stop()

    def _warn(self, message: str) -> None:
        if self._log is not None:
            self._log.write("warning", message)

    async def _subscribe(self, queue: str, prefetch: int) -> _Subscription | None:
        while (connection := await self._link.connection()) is not None:
            try:
                subscription = _Subscription(await connection.channel())
                await subscription.start(queue, prefetch)
            except LostError:
                await asyncio.sleep(_PAUSE_S)
            except ChannelRefusedError as refused:
                if (mistake := _mistake(refused, queue, self._link)) is not None:
                    raise BusError(mistake) from None
                self._warn(f"RabbitMQ does not deliver from {queue} now: {refused.text}")
                await asyncio.sleep(_LONG_PAUSE_S)
            else:
                return subscription
        return None


def _mistake(refused: ChannelRefusedError, queue: str, link: ReconnectingConnection) -> str | None:
    """Return what a user must correct; None for what passes, such as a node that is down."""
    where = f"virtual host {link.address.virtual_host}"
    if refused.code == NOT_FOUND and "no queue" in refused.text:
        return f"RabbitMQ has no queue {queue} in {where}: declare the topology"
    if refused.code == NOT_ALLOWED:
        return (
            f"RabbitMQ: user {link.address.user!r} may not read {queue} in {where}: give the user "
            "permission to read it (`rabbitmqctl set_permissions`)"
        )
    return None
