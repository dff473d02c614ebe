"""Signs of life: what is left of a run that could still move it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class RunPulse(NamedTuple):
    """The signs of life of one state of a run."""

    born: bool
    """Its state is there."""
    ended: bool
    """It ended in this state, whether or not that was reported."""
    timers: int
    """Timers and leases: each will send a message."""
    holders: frozenset[str]
    """Workers that hold a message of it, or held one when they died."""
    probe: str
    """The last probe that has passed through the queue."""
    claimed: bool = True
    """Whether any message of it was ever handled."""


class RunLiveness(Protocol):
    """Reads the signs of life of runs, and notes probes."""

    async def take(self, state_ids: Sequence[str]) -> list[RunPulse]:
        """Return the pulse of each state."""
        ...

    async def mark(self, state_id: str, probe: str) -> None:
        """Note that a probe passed through the queue. Without effect on a state that is gone."""
        ...
