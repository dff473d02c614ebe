"""Letting the event loop turn between two evaluations that take long.

An expression has a budget of work, so it ends; but one that uses it all keeps the loop for seconds,
and messages that are handled together could do so one after the other before anything else gets its
turn: connections would be taken for dead. With this, only one of them goes between two turns.
"""

from __future__ import annotations

import asyncio

LONG_S = 0.02


class Courtesy:
    """Shared by everyone who evaluates in one event loop."""

    def __init__(self) -> None:
        self._used = False

    async def wait(self) -> None:
        """Return when nobody has used up this turn of the loop."""
        while self._used:  # noqa: ASYNC110  (an event would wake all of them at once)
            await asyncio.sleep(0)

    def spent(self, seconds: float) -> None:
        """Say how long an evaluation took."""
        if seconds > LONG_S and not self._used:
            self._used = True
            asyncio.get_running_loop().call_soon(self._refresh)

    def _refresh(self) -> None:
        self._used = False
