"""Running a blocking call in a thread of its own.

A thread cannot be stopped from outside. One whose caller is cancelled is abandoned: it runs until
it ends by itself, its result is dropped, and the end of the process does not wait for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MOST_ABANDONED = 32
"""How many abandoned threads may run in a process before it takes no more such nodes."""


class Threads:
    """The threads of one process."""

    def __init__(self) -> None:
        self.abandoned = 0

    async def call(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns, or raise what it raises."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def report(result: Any, problem: BaseException | None) -> None:
            if done.cancelled():
                self.abandoned -= 1
            else:
                done.set_result((result, problem))

        def run() -> None:
            result, problem = None, None
            try:
                result = work()
            except BaseException as raised:  # also SystemExit: it is the node's, not ours
                problem = raised
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(report, result, problem)

        threading.Thread(target=run, name="onward-node", daemon=True).start()
        try:
            result, problem = await done
        except asyncio.CancelledError:
            self.abandoned += done.cancelled()
            raise
        if problem is not None:
            raise problem
        return result
