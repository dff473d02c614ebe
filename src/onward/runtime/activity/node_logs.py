"""The lines that nodes write while they run, until their visit is recorded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from onward.kernel.log_lines import LogLineRecord, VisitLog
from onward.kernel.messages import Token

MOST_VISITS = 10_000
"""Visits whose lines are held: those of a visit that is never recorded make room in the end."""


class NodeLogBuffer:
    """Holds the lines of visits. Nodes in threads may write at any time."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        # No `Lru`: a thread may come between any two steps, and each of these is atomic.
        self._visits: OrderedDict[tuple[str, str], VisitLog] = OrderedDict()

    def add(self, token: Token, level: str, message: str, fields: Mapping[str, Any]) -> None:
        """Hold a line of the visit that a token stands for."""
        line = LogLineRecord(
            at_ms=self._now_ms(), level=level, message=message, fields=dict(fields)
        )
        self._visits.setdefault((token.token_id, token.current_node), VisitLog()).add(line)
        while len(self._visits) > MOST_VISITS:
            self._visits.popitem(last=False)

    def take(self, token: Token, node: str) -> tuple[LogLineRecord, ...]:
        """Return the lines of a visit that is recorded now, and forget them."""
        log = self._visits.pop((token.token_id, node), None) if self._visits else None
        return log.lines() if log is not None else ()
