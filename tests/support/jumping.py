"""A clock that jumps, and chance that repeats itself: tests of days take milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

START_MS = 1_750_000_000_000  # 2025-06-15T15:06:40Z


class JumpingClock:
    """Time stands still while anything happens, and jumps to the next alarm when nothing does.

    `idle` says whether nothing happens; whoever changes its answer without waking the engine (a
    probe that parks) calls `stir`.
    """

    def __init__(self) -> None:
        self.now = START_MS
        self.idle: Callable[[], bool] = lambda: True
        self.held = False
        self._stirred = asyncio.Event()

    def now_ms(self) -> int:
        """Return the time."""
        return self.now

    def stir(self) -> None:
        """Have `idle` asked again."""
        self._stirred.set()

    def hold(self) -> None:
        """Do not jump until `release`."""
        self.held = True

    def release(self) -> None:
        """Jump again."""
        self.held = False
        self.stir()

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set, or jump to `until_ms` when nothing else happens."""
        for _ in range(3):
            await asyncio.sleep(0)  # whatever is ready to happen happens first
        while not event.is_set():
            if until_ms is not None and not self.held and self.idle():
                self.now = max(self.now, until_ms)
                return
            self._stirred = asyncio.Event()
            waits = [asyncio.ensure_future(one.wait()) for one in (event, self._stirred)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()


class FixedChance:
    """Ids in order, and dice that always fall the same way."""

    def __init__(self, dice: float = 0.5) -> None:
        self.fall = dice
        self._next = 0

    def execution_id(self, now_ms: int) -> str:
        """Return run-1, run-2 ..."""
        self._next += 1
        return f"run-{self._next}"

    def publish_id(self) -> str:
        """Return publish-1, publish-2 ..."""
        self._next += 1
        return f"publish-{self._next}"

    def dice(self) -> float:
        """Return the fixed fall."""
        return self.fall
