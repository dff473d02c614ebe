"""Durable timers: the one source of delay.

A timer is a token and a time. It is claimed with a lease, its token is published and confirmed, and
only then it is gone; a scheduler that dies in between leaves a lease that runs out.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Due(NamedTuple):
    """A timer whose time has come, leased to the caller."""

    timer_id: str
    execution_id: str
    body: bytes


class Timers(Protocol):
    """Any number of schedulers may compete for them."""

    async def set(self, execution_id: str, timer_id: str, due_ms: int, body: bytes) -> None:
        """Set a timer; the first setting stands."""
        ...

    async def hasten(self, execution_id: str, timer_id: str, now_ms: int) -> None:
        """Let a timer be due now; one that is gone, or about to be sent, is left as it is."""
        ...

    async def cancel(self, execution_id: str, timer_id: str) -> None:
        """Forget a timer; one that is gone already is forgotten too."""
        ...

    async def cancel_all(self, execution_id: str) -> None:
        """Forget every timer of a run that has ended."""
        ...

    async def park(self, execution_id: str, token_id: str, until_ms: int, body: bytes) -> bool:
        """Keep the message of a paused run until `unpark`, or for so long at most.

        False, and nothing is kept: the run is not paused (any more).
        """
        ...

    async def unpark(self, execution_id: str, now_ms: int) -> int:
        """Let every parked message of a run be sent now, and say how many there were."""
        ...

    async def claim_due(self, now_ms: int, lease_ms: int, limit: int) -> list[Due]:
        """Lease timers that are due, earliest first, and those whose lease has run out."""
        ...

    async def confirm(self, timers: list[Due]) -> None:
        """The tokens are published: the timers are gone."""
        ...

    async def next_due(self) -> int | None:
        """Return when the next timer is due or the next lease runs out."""
        ...

    async def wait_for_earlier(self, than_ms: int | None, timeout_s: float) -> None:
        """Return when there is a timer due before `than_ms`, or after the time given.

        Also one that was set while nobody was waiting yet.
        """
        ...
