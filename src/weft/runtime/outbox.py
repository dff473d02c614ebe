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
PAUSE_S = 0.003

_encoder = msgspec.json.Encoder()


class Outbox:
    """Publishes statuses in small batches, each with a confirm."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiting: list[tuple[NodeStatusMessage, asyncio.Future[None]]] = []
        self._sender: asyncio.Task[None] | None = None

    def report(self, status: NodeStatusMessage) -> asyncio.Future[None]:
        """Send a status; the future is done when the broker has it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_noticed)
        self._waiting.append((status, done))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        return done

    async def _send(self) -> None:
        await asyncio.sleep(PAUSE_S)
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            statuses = [status for status, _ in batch]
            body = _encoder.encode(statuses if len(statuses) > 1 else statuses[0])
            asyncio.get_running_loop().create_task(self._deliver(body, batch))

    async def _deliver(
        self, body: bytes, batch: list[tuple[NodeStatusMessage, asyncio.Future[None]]]
    ) -> None:
        try:
            await self._bus.publish(STATUS, body)
        except Exception as problem:
            for _, done in batch:
                if not done.done():
                    done.set_exception(problem)
        else:
            for _, done in batch:
                if not done.done():
                    done.set_result(None)


def _noticed(done: asyncio.Future[None]) -> None:
    """Take note of a failure that nobody waits for: what is reported next is waited for."""
    if not done.cancelled():
        done.exception()
