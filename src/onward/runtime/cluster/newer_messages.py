"""Messages of a later version: they go round until a process comes that knows them.

Nothing is wrong with such a message, so it is neither quarantined nor dropped. It is sent on its
way again after a pause, so that it costs next to nothing while no such process is there.
"""

from __future__ import annotations

import asyncio

from onward.errors import NewerMessageError
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.nodes.outside import Log
from onward.runtime.queues import RETRIES

PAUSE_S = 5.0
QUIET_S = 60.0
"""At most one log line in this time: a mixed fleet may meet thousands of such messages."""


class NewerMessages:
    """Puts messages off for somebody else."""

    def __init__(self, bus: Bus, log: Log) -> None:
        self._bus = bus
        self._log = log
        self._waiting: set[asyncio.Task[None]] = set()
        self._speak_at = float("-inf")

    async def send_round(self, body: bytes, problem: NewerMessageError) -> None:
        """Send a token, as it came, to where it waits a little; return when it is safe there."""
        self._tell(problem)
        await self._bus.publish(RETRIES[0], body)

    def hold(self, delivery: Delivery, queue: str, problem: NewerMessageError) -> None:
        """Put news back into its queue after a pause, as a message that was never delivered.

        Giving it back instead would count as a failed delivery, and those have a limit.
        """
        self._tell(problem)
        task = asyncio.create_task(self._return(delivery, queue))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def close(self) -> None:
        """Let go of what is held: it is not acknowledged, so its queue has it again."""
        for task in self._waiting:
            task.cancel()

    async def _return(self, delivery: Delivery, queue: str) -> None:
        await asyncio.sleep(PAUSE_S)
        try:
            await self._bus.publish(queue, delivery.body)
        except Exception as problem:
            self._log.write("warning", f"a message could not be put back: {problem}")
            await delivery.give_back()
        else:
            await delivery.ack()

    def _tell(self, problem: NewerMessageError) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._speak_at:
            self._speak_at = now + QUIET_S
            self._log.write(
                "warning",
                f"left to a newer process: a message with {problem}; update this process",
            )
