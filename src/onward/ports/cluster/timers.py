"""Durable timers: the one source of delay.

A timer is a token and a time. It is claimed with a lease, its token is published and confirmed, and
only then it is removed; a scheduler that dies in between leaves a lease that expires.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class DueTimer(NamedTuple):
    """A timer that is due, leased to the caller."""

    timer_id: str
    state_id: str
    body: bytes


class Timers(Protocol):
    """Any number of schedulers may compete for them."""

    async def set(self, state_id: str, timer_id: str, due_ms: int, body: bytes) -> None:
        """Set a timer; the first setting stands. A run that has ended gets none."""
        ...

    async def hasten(self, state_id: str, timer_id: str, now_ms: int) -> None:
        """Make a timer due now; one that is gone, or about to be sent, stays as it is."""
        ...

    async def cancel(self, state_id: str, timer_id: str) -> None:
        """Remove a timer, if it is still there."""
        ...

    async def cancel_all(self, state_id: str) -> None:
        """Remove every timer of a state that is over."""
        ...

    async def park(self, state_id: str, token_id: str, until_ms: int, body: bytes) -> bool:
        """Store the message of a paused run until `unpark`, or until a time at the latest.

        False, and nothing is stored: the run is not paused (any more).
        """
        ...

    async def unpark(self, state_id: str, now_ms: int) -> int:
        """Have every parked message of a run sent now, and return their number."""
        ...

    async def claim_due(self, now_ms: int, lease_ms: int, limit: int) -> list[DueTimer]:
        """Lease timers that are due, earliest first, and those whose lease has expired."""
        ...

    async def confirm(self, timers: list[DueTimer]) -> None:
        """Remove timers whose tokens are published."""
        ...

    async def next_due(self) -> int | None:
        """Return when the next timer is due or the next lease expires."""
        ...

    async def wait_for_earlier(self, than_ms: int | None, timeout_s: float) -> None:
        """Return when there is a timer due before `than_ms`, or when the time is over.

        Also one that was set just before the call.
        """
        ...
