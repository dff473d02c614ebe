"""How many requests each webhook may have in a minute, counted in this process alone."""

from __future__ import annotations

MINUTE_MS = 60_000
MOST = 10_000
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
        if len(self._free_ms) > MOST:
            del self._free_ms[next(iter(self._free_ms))]
        return 0
