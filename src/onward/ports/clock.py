"""The ports of every source of nondeterminism: the clock, fresh ids and the dice."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Clock(Protocol):
    """The time, and waiting for a later one."""

    def now_ms(self) -> int:
        """Return the time in epoch milliseconds."""
        ...

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set or the time has come, whichever is first."""
        ...


class Chance(Protocol):
    """Fresh ids and throws of the dice."""

    def execution_id(self, now_ms: int) -> str:
        """Return a new execution id; later ones sort after earlier ones."""
        ...

    def publish_id(self) -> str:
        """Return an id that no other publish has."""
        ...

    def dice(self) -> float:
        """Return a number from 0 up to 1."""
        ...
