"""How often something may be tried: token buckets, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict

from onward.ports.clock import Clock

# -- How many requests each webhook may have in a minute, counted in this process alone.


MINUTE_MS = 60_000
MOST_KEYS = 10_000
"""Webhooks that are remembered; those that were quiet for longest begin anew."""


class Throttle:
    """Lets as many through at once as a minute allows, and then one by one as time passes."""

    def __init__(self) -> None:
        self._free_ms: dict[str, int] = {}

    def take(self, name: str, per_minute: int, now_ms: int) -> int:
        """Return 0 and count it; or count nothing, and return the milliseconds to wait."""
        step_ms = MINUTE_MS / per_minute
        free_ms = max(self._free_ms.pop(name, 0), now_ms - MINUTE_MS)
        wait_ms = free_ms + step_ms - now_ms
        if wait_ms > 0:
            self._free_ms[name] = free_ms
            return max(1, round(wait_ms))
        self._free_ms[name] = round(free_ms + step_ms)
        if len(self._free_ms) > MOST_KEYS:
            del self._free_ms[next(iter(self._free_ms))]
        return 0


MOST = 10_000


class Buckets:
    """One bucket for each key: `burst` at once, and `per_s` again in every second.

    Of more than `MOST` keys the ones that were not used for longest are forgotten.
    """

    def __init__(self, clock: Clock, *, burst: float, per_s: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_s = per_s
        self._left: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one, and return 0; or nothing, and return in how many seconds there is one."""
        left = self._now(key)
        if left < 1:
            return (1 - left) / self._per_s
        self._put(key, left - 1)
        return 0.0

    def give_back(self, key: str) -> None:
        """Let the last one not count."""
        self._put(key, min(self._burst, self._now(key) + 1))

    def _now(self, key: str) -> float:
        left, at_ms = self._left.get(key, (self._burst, 0))
        passed_s = max(0, self._clock.now_ms() - at_ms) / 1000
        return min(self._burst, left + passed_s * self._per_s)

    def _put(self, key: str, left: float) -> None:
        self._left[key] = (left, self._clock.now_ms())
        self._left.move_to_end(key)
        while len(self._left) > MOST:
            self._left.popitem(last=False)
