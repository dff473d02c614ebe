"""Statuses on their way out: those that are reported at the same time travel in one message.

A message of the status queue is one NodeStatusMessage, or a JSON array of them. A status that the
broker did not take is sent again until it does: nothing that follows from a visit is sent before
that (`effects.py`), and a worker that repeats the visit reports its status again.
"""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec

from onward.kernel.messages import NodeStatusMessage
from onward.ports.cluster.bus import Bus, BusError
from onward.runtime.queues import STATUS
from onward.runtime.tasks import retry

MOST_STATUSES = 200
BATCH_PAUSE_S = 0.003
RETRY_PAUSE_S = 1.0

_encoder = msgspec.json.Encoder()


class StatusBatch:
    """Statuses that travel together, and whether the broker has them."""

    __slots__ = ("done", "statuses", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.statuses: list[NodeStatusMessage] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(_retrieve_error)


class StatusOutbox:
    """Publishes statuses in small batches, each with a confirm."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._open_batch: StatusBatch | None = None
        self._deliveries: set[asyncio.Task[None]] = set()

    def report(self, status: NodeStatusMessage) -> StatusBatch:
        """Send a status with others, and return the batch in which it travels.

        Others wait for the same future: a task that may be cancelled must shield it.
        """
        batch = self._open_batch
        if batch is None:
            timer = asyncio.get_running_loop().call_later(BATCH_PAUSE_S, self._send)
            batch = self._open_batch = StatusBatch(timer)
        batch.statuses.append(status)
        if len(batch.statuses) == MOST_STATUSES:
            batch.timer.cancel()
            self._send()
        return batch

    def _send(self) -> None:
        batch, self._open_batch = self._open_batch, None
        if batch is not None:
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            self._deliveries.add(task)
            task.add_done_callback(self._deliveries.discard)

    async def _deliver(self, batch: StatusBatch) -> None:
        statuses = batch.statuses
        try:
            body = _encoder.encode(statuses if len(statuses) > 1 else statuses[0])
            await retry(
                partial(self._bus.publish, STATUS, body),
                BusError,
                first_pause_s=RETRY_PAUSE_S,
                longest_pause_s=RETRY_PAUSE_S,
            )
        except Exception as problem:
            batch.done.set_exception(problem)
        else:
            batch.done.set_result(None)


def _retrieve_error(done: asyncio.Future[None]) -> None:
    """Take an error that no task waits for: the next status to be reported is waited for."""
    if not done.cancelled():
        done.exception()
