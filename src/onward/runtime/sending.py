"""What a judgement has sent and the broker has not confirmed yet."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from onward.runtime.outbox import Batch


class Sending:
    """Publishes and statuses on their way, until all of them are confirmed."""

    __slots__ = ("_next", "_tasks", "_told")

    def __init__(self) -> None:
        self._next: Coroutine[Any, Any, None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._told: list[Batch] = []

    def publish(self, publishing: Coroutine[Any, Any, None]) -> None:
        """Send a message, at the latest when `go_on` is called."""
        self.go_on()
        self._next = publishing

    def tell(self, told: Batch) -> None:
        """Wait for a status too; others may wait for the same."""
        if not self._told or self._told[-1] is not told:
            self._told.append(told)

    async def heard(self) -> None:
        """Return when the broker has every status."""
        told, self._told = self._told, []
        for batch in told:
            if batch.done.done():
                batch.done.result()
            else:
                await asyncio.shield(batch.done)

    def go_on(self) -> None:
        """Let what was sent last go its way: something else is done before it is confirmed."""
        if self._next is not None:
            self._tasks.append(asyncio.create_task(self._next))
            self._next = None

    async def confirmed(self) -> None:
        """Return when everything is confirmed; the first confirm that did not come is raised."""
        last, self._next = self._next, None
        tasks, self._tasks = self._tasks, []
        if tasks:
            if last is not None:
                tasks.append(asyncio.create_task(last))
            await asyncio.gather(*tasks)
        elif last is not None:
            await last  # one message, as most judgements send: it needs no task of its own
        await self.heard()

    def close(self) -> None:
        """Forget a message that was never begun, because something went wrong before it."""
        if self._next is not None:
            self._next.close()
            self._next = None
