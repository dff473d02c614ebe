"""How often something may be tried: a token bucket for each key, in bounded memory."""

from __future__ import annotations

from typing import NamedTuple

from onward.kernel.lru import Lru
from onward.ports.clock import Clock

MOST_KEYS = 10_000
"""Keys that are remembered; those that were not used for longest begin anew."""


class Rate(NamedTuple):
    """`burst` at once, and `per_s` again in every second."""

    burst: float
    per_s: float


def per_minute(count: int) -> Rate:
    """Return the rate that allows so many in a minute, all of them at once if need be."""
    return Rate(count, count / 60)


class RateLimiter:
    """Counts tries in this process alone. Each key may have a rate of its own."""

    def __init__(self, clock: Clock, rate: Rate) -> None:
        self._clock = clock
        self._rate = rate
        self._buckets: Lru[str, tuple[float, int]] = Lru(MOST_KEYS)

    def take(self, key: str, rate: Rate | None = None) -> float:
        """Count a try, and return 0; or count nothing, and return in how many seconds to retry."""
        rate = rate or self._rate
        left = self._left(key, rate)
        if left < 1:
            return (1 - left) / rate.per_s
        self._put(key, left - 1)
        return 0.0

    def give_back(self, key: str) -> None:
        """Let the last try not count."""
        self._put(key, min(self._rate.burst, self._left(key, self._rate) + 1))

    def _left(self, key: str, rate: Rate) -> float:
        left, at_ms = self._buckets.get(key) or (rate.burst, 0)
        passed_s = max(0, self._clock.now_ms() - at_ms) / 1000
        return min(rate.burst, left + passed_s * rate.per_s)

    def _put(self, key: str, left: float) -> None:
        self._buckets.put(key, (left, self._clock.now_ms()))
