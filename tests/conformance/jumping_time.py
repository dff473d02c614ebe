"""The time of a cluster: it stands still while anything happens, and then jumps to what is next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from runtime.cluster.lab import PATIENCE_S
from support.jumping import START_MS

LOOK_S = 0.002

Hand = Callable[[], Awaitable[int | None]]
"""Does what is to be done at this time, and says when there is something to do again."""


class JumpingTime:
    """The clock of all processes."""

    def __init__(self) -> None:
        self.now = START_MS
        self.hands: list[Hand] = []
        self.held = False
        self._end_ms: int | None = None
        self._over = asyncio.Event()

    def reset(self) -> None:
        """Begin again."""
        self.now, self.held, self._end_ms = START_MS, False, None

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Let no time pass for as long as the context lasts."""
        self.held = True
        try:
            yield
        finally:
            self.held = False

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set or the time has come, whichever is first."""
        while not event.is_set() and (until_ms is None or self.now < until_ms):
            await asyncio.sleep(0.005)

    async def pass_by(self, span_ms: int) -> None:
        """Let a time pass, and then no more."""
        self._end_ms = self.now + span_ms
        self._over.clear()
        self.held = False
        async with asyncio.timeout(PATIENCE_S):
            await self._over.wait()

    async def run(self, busy: Callable[[], bool]) -> None:
        """Jump from one thing to do to the next, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            if self.held or busy():
                continue
            due = [one for hand in self.hands if (one := await hand()) is not None]
            if self.held or busy():
                continue  # with that it began
            next_ms = min(due, default=None)
            if self._end_ms is not None and (next_ms is None or next_ms > self._end_ms):
                self.now, self._end_ms, self.held = self._end_ms, None, True
                self._over.set()
            elif next_ms is not None:
                self.now = max(self.now, next_ms)
