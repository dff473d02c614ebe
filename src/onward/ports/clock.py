"""Every source of nondeterminism, as ports: the clock, fresh ids and the dice."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how to wait for a later one."""

    def now_ms(self) -> int:
        """Return the time in epoch milliseconds."""
        ...

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Return when `event` is set or the time has come, whichever is first."""
        ...


class Chance(Protocol):
    """Fresh names and throws of the dice."""

    def execution_id(self, now_ms: int) -> str:
        """Return a new execution id; later ones sort after earlier ones."""
        ...

    def publish_id(self) -> str:
        """Return a name that no other publish has."""
        ...

    def dice(self) -> float:
        """Return a number from 0 up to 1."""
        ...
