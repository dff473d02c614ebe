"""When something is to happen next in the runs of an embedded engine."""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Alarms:
    """Moments, each with the run and the timer that it is for."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str, str]] = []

    def set(self, due_ms: int, execution_id: str, timer_id: str) -> None:
        """Remember a timer."""
        heapq.heappush(self._heap, (due_ms, execution_id, timer_id))

    @property
    def first_ms(self) -> int | None:
        """When the first of them is due."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[tuple[str, str]]:
        """Take out what is due by now: the run and the timer of each."""
        while self._heap and self._heap[0][0] <= now_ms:
            _, execution_id, timer_id = heapq.heappop(self._heap)
            yield execution_id, timer_id
