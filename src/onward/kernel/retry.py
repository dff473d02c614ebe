"""When to retry a failed node: a policy, an attempt and a random number in, a delay out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

Backoff = Literal["constant", "linear", "exponential"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after which delays a failed node is retried. Times are seconds."""

    max_attempts: int = 1
    delay: float = 1.0
    backoff: Backoff = "exponential"
    max_delay: float = 3600.0
    jitter: float = 0.0
    """Between 0 and 1: the part of each delay that is left to chance."""
    on: tuple[str, ...] = ()
    """Error codes that are retried; empty means all."""

    def delay_ms(self, attempt: int, code: str, dice: float) -> int | None:
        """Return how long to wait after failed attempt number `attempt`, or None to give up.

        `dice` is a number from 0 up to 1. Jitter only ever shortens a delay, so `max_delay` holds.
        """
        if attempt >= self.max_attempts or (self.on and code not in self.on):
            return None
        seconds = min(self.delay * backoff_factor(self.backoff, attempt), self.max_delay)
        return round(1000 * seconds * (1 - self.jitter * dice))


def backoff_factor(backoff: Backoff, attempt: int) -> int:
    """Return by how much the delay after failed attempt number `attempt` is multiplied."""
    match backoff:
        case "constant":
            return 1
        case "linear":
            return attempt
        case "exponential":
            # Beyond 2^62 any delay is past every limit; the bound keeps the number small.
            return int(2 ** min(attempt - 1, 62))
        case _:
            assert_never(backoff)
