"""Statuses on their way out: what is reported at the same time travels in one message.

A message of the status queue is one NodeStatusMessage, or a JSON array of them.
"""

from __future__ import annotations

import asyncio

import msgspec

from weft.kernel.messages import NodeStatusMessage
from weft.ports.bus import Bus
from weft.runtime.queues import STATUS

MOST = 200

_encoder = msgspec.json.Encoder()


class _Batch:
    """Statuses that travel together, and whether the broker has them."""

    __slots__ = ("done", "statuses")

    def __init__(self) -> None:
        self.statuses: list[NodeStatusMessage] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done.add_done_callback(_noticed)


class Outbox:
    """Publishes statuses in batches, each with a confirm.

    The first goes at once; what is reported while it is under way goes together when it is there.
    So nobody waits when there is little to tell, and much is told in few messages.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._filling: _Batch | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def report(self, status: NodeStatusMessage) -> asyncio.Future[None]:
        """Send a status; the future is done when the broker has it.

        Others wait for the same future: whoever may be cancelled must shield it.
        """
        batch = self._filling
        if batch is None:
            batch = self._filling = _Batch()
            if not self._sending:
                # At the end of this turn: others may have something to tell as well.
                asyncio.get_running_loop().call_soon(self._send)
        batch.statuses.append(status)
        if len(batch.statuses) == MOST:
            self._send()
        return batch.done

    def _send(self) -> None:
        batch, self._filling = self._filling, None
        if batch is not None:
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._send()

    async def _deliver(self, batch: _Batch) -> None:
        statuses = batch.statuses
        try:
            body = _encoder.encode(statuses if len(statuses) > 1 else statuses[0])
            await self._bus.publish(STATUS, body)
        except Exception as problem:
            batch.done.set_exception(problem)
        else:
            batch.done.set_result(None)


def _noticed(done: asyncio.Future[None]) -> None:
    """Take note of a failure that nobody waits for: what is reported next is waited for."""
    if not done.cancelled():
        done.exception()
