"""Signs of life: what there is of a run that could still move it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class RunPulse(NamedTuple):
    """What one look at a run's state shows."""

    born: bool
    """Its state is there."""
    ended: bool
    """It ended in this state, whether or not that is known anywhere else."""
    timers: int
    """Timers and leases: each will send a message."""
    holders: frozenset[str]
    """Workers that have a message of it in hand, or had one when they died."""
    probe: str
    """The last probe that has come through the queue."""
    claimed: bool = True
    """Whether any message of it was ever handled."""


class RunLiveness(Protocol):
    """Looks at runs, and lets probes leave a mark."""

    async def take(self, runs: Sequence[str]) -> list[RunPulse]:
        """Return the pulse of each state (`Token.run`)."""
        ...

    async def mark(self, run: str, probe: str) -> None:
        """Note that a probe came through the queue. Without effect on a state that is gone."""
        ...
