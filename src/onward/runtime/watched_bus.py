"""A bus whose traffic is counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import perf_counter

from onward.ports import metrics
from onward.ports.bus import Bus, Delivery
from onward.ports.metrics import Meter
from onward.runtime.queues import COMPLETION, QUARANTINE, RETRIES

_DELAYS = {queue: queue.rpartition(".")[2] for queue in RETRIES}


class WatchedBus:
    """Passes everything on; `ended` is told each completion that the broker has confirmed."""

    def __init__(self, bus: Bus, meter: Meter, ended: Callable[[bytes], None]) -> None:
        self._bus = bus
        self._meter = meter
        self._ended = ended

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Publish, and count what came of it."""
        meter, began = self._meter, perf_counter()
        try:
            await self._bus.publish(queue, body, priority=priority)
        except Exception:
            meter.add(metrics.PUBLISH_FAILED, queue)
            raise
        meter.observe(metrics.PUBLISH_SECONDS, perf_counter() - began, queue)
        meter.add(metrics.PUBLISHED, queue)
        if queue in _DELAYS:
            meter.add(metrics.TROUBLE, _DELAYS[queue])
        elif queue == QUARANTINE:
            meter.add(metrics.QUARANTINED)
        elif queue == COMPLETION:
            self._ended(body)

    async def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over deliveries that count how they are settled."""
        async with aclosing(self._bus.consume(queue, prefetch=prefetch)) as deliveries:
            async for delivery in deliveries:
                self._meter.add(metrics.CONSUMED, queue)
                if delivery.redelivered:
                    self._meter.add(metrics.REDELIVERED, queue)
                self._meter.add(metrics.IN_HAND, queue)
                yield _Counted(delivery, self._meter, queue)

    async def close(self) -> None:
        """Close the bus behind."""
        await self._bus.close()


class _Counted:
    """A delivery that is counted when it is settled, once."""

    __slots__ = ("_delivery", "_meter", "_queue", "_settled")

    def __init__(self, delivery: Delivery, meter: Meter, queue: str) -> None:
        self._delivery = delivery
        self._meter = meter
        self._queue = queue
        self._settled = False

    @property
    def body(self) -> bytes:
        """The message itself."""
        return self._delivery.body

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self._delivery.redelivered

    async def ack(self) -> None:
        """Say that it is dealt with."""
        self._count(metrics.ACKED)
        await self._delivery.ack()

    async def give_back(self) -> None:
        """Return it to its queue."""
        self._count(metrics.GIVEN_BACK)
        await self._delivery.give_back()

    def _count(self, how: metrics.Metric) -> None:
        if not self._settled:
            self._settled = True
            self._meter.add(how, self._queue)
            self._meter.add(metrics.IN_HAND, self._queue, amount=-1)


_conforms: type[Bus] = WatchedBus
_delivers: type[Delivery] = _Counted
