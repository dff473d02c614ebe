"""Statuses on their way out: what is reported at the same time travels in one message.

A message of the status queue is one NodeStatusMessage, or a JSON array of them. A status that the
broker did not take is sent again until it does: nothing that follows from a visit is sent before
that (see `performing`), and whoever repeats the visit tells its status again.
"""

from __future__ import annotations

import asyncio

import msgspec

from onward.kernel.messages import NodeStatusMessage
from onward.ports.cluster.bus import Bus, BusError
from onward.runtime.queues import STATUS

MOST = 200
PAUSE_S = 0.003
AGAIN_S = 1.0

_encoder = msgspec.json.Encoder()


class StatusBatch:
    """Statuses that travel together, and whether the broker has them."""

    __slots__ = ("done", "statuses", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.statuses: list[NodeStatusMessage] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(_noticed)


class StatusOutbox:
    """Publishes statuses in small batches, each with a confirm."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._filling: StatusBatch | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def report(self, status: NodeStatusMessage) -> StatusBatch:
        """Send a status with others, and return what it travels in.

        Others wait for the same future: whoever may be cancelled must shield it.
        """
        batch = self._filling
        if batch is None:
            timer = asyncio.get_running_loop().call_later(PAUSE_S, self._send)
            batch = self._filling = StatusBatch(timer)
        batch.statuses.append(status)
        if len(batch.statuses) == MOST:
            batch.timer.cancel()
            self._send()
        return batch

    def _send(self) -> None:
        batch, self._filling = self._filling, None
        if batch is not None:
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, batch: StatusBatch) -> None:
        statuses = batch.statuses
        try:
            body = _encoder.encode(statuses if len(statuses) > 1 else statuses[0])
            while True:
                try:
                    await self._bus.publish(STATUS, body)
                    break
                except BusError:
                    await asyncio.sleep(AGAIN_S)
        except Exception as problem:
            batch.done.set_exception(problem)
        else:
            batch.done.set_result(None)


def _noticed(done: asyncio.Future[None]) -> None:
    """Take note of a failure that nobody waits for: what is reported next is waited for."""
    if not done.cancelled():
        done.exception()
