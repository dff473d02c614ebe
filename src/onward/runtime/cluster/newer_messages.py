"""Messages of a later version: they are requeued until a process receives them that knows them.

Nothing is wrong with such a message, so it is neither quarantined nor dropped. It is requeued after
a pause, so that it costs next to nothing while no such process is running.
"""

from __future__ import annotations

import asyncio

from onward.errors import NewerMessageError
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.nodes.outside import Log
from onward.runtime.queues import RETRIES

REQUEUE_PAUSE_S = 5.0
LOG_PAUSE_S = 60.0
"""At most one log line in this time: a mixed fleet may meet thousands of such messages."""


class NewerMessages:
    """Leaves messages to newer processes."""

    def __init__(self, bus: Bus, log: Log) -> None:
        self._bus = bus
        self._log = log
        self._waiting: set[asyncio.Task[None]] = set()
        self._next_log_s = float("-inf")

    async def requeue(self, body: bytes, problem: NewerMessageError) -> None:
        """Send a token, as it came, to the first retry queue; return when that is confirmed."""
        self._log_once(problem)
        await self._bus.publish(RETRIES[0], body)

    def requeue_later(self, delivery: Delivery, queue: str, problem: NewerMessageError) -> None:
        """Publish a message to its queue again after a pause, as one that was never delivered.

        Returning it instead would count as a failed delivery, and those have a limit.
        """
        self._log_once(problem)
        task = asyncio.create_task(self._publish_again(delivery, queue))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def close(self) -> None:
        """Drop the messages that wait: they are not acknowledged, so their queue has them again."""
        for task in self._waiting:
            task.cancel()

    async def _publish_again(self, delivery: Delivery, queue: str) -> None:
        await asyncio.sleep(REQUEUE_PAUSE_S)
        try:
            await self._bus.publish(queue, delivery.body)
        except Exception as problem:
            self._log.write("warning", f"a message could not be requeued: {problem}")
            await delivery.give_back()
        else:
            await delivery.ack()

    def _log_once(self, problem: NewerMessageError) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._next_log_s:
            self._next_log_s = now + LOG_PAUSE_S
            self._log.write(
                "warning",
                f"left to a newer process: a message with {problem}; update this process",
            )
