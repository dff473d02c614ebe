"""The lines that nodes write while they run, until their visit is recorded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from onward.kernel.log_lines import LogLineRecord, VisitLog
from onward.kernel.messages import Token

MOST = 10_000
"""Visits whose lines are held: those of a visit that is never recorded make room in the end."""


class NodeLogBuffer:
    """Holds the lines of visits. Nodes in threads may write at any time."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._of: OrderedDict[tuple[str, str], VisitLog] = OrderedDict()

    def keep(self, token: Token, level: str, message: str, fields: Mapping[str, Any]) -> None:
        """Hold a line of the visit that a token stands for."""
        line = LogLineRecord(
            at_ms=self._now_ms(), level=level, message=message, fields=dict(fields)
        )
        self._of.setdefault((token.token_id, token.current_node), VisitLog()).add(line)
        while len(self._of) > MOST:
            self._of.popitem(last=False)

    def take(self, token: Token, node: str) -> tuple[LogLineRecord, ...]:
        """Return the lines of a visit that is recorded now, and forget them."""
        found = self._of.pop((token.token_id, node), None) if self._of else None
        return found.lines() if found is not None else ()
