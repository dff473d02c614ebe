"""Traces: one for each run, a span for each execution of a node.

Ids follow from what they name: the trace from the run, a span from the token. A redelivery tells
its span again under the same id, in the same trace, and whoever comes after it finds its parent
there even when the first teller died before it could tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from onward.kernel.ids import derive
from onward.kernel.messages import CompletionMessage, Token

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_ZEROES = {32 * "0", 16 * "0"}


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a span stands: the W3C `traceparent`, taken apart."""

    trace: str
    span: str
    sampled: bool = True

    def __str__(self) -> str:
        """Return it as a `traceparent` header says it."""
        return f"00-{self.trace}-{self.span}-{int(self.sampled):02x}"


def root_of(execution_id: str) -> Mark:
    """Return the mark of a run as a whole."""
    return Mark(derive("trace", execution_id), derive("run", execution_id)[:16])


def parent_of(token: Token) -> Mark:
    """Return what a token follows from: its `traceparent`, or the run when it has none."""
    found = _PARENT.fullmatch(token.traceparent)
    if found is None or not _ZEROES.isdisjoint(found.groups()):
        return root_of(token.execution_id)
    return Mark(found[1], found[2], bool(int(found[3], 16) & 1))


def mark_of(token: Token) -> Mark:
    """Return the mark of the execution of a token."""
    parent = parent_of(token)
    span = derive("span", token.execution_id, token.token_id)[:16]
    return Mark(parent.trace, span, parent.sampled)


class Tracer(Protocol):
    """Takes spans that are over."""

    def now_ns(self) -> int:
        """Return the time in epoch nanoseconds, for spans."""
        ...

    def executed(
        self, token: Token, node_type: str, outcome: str, start_ns: int, end_ns: int
    ) -> None:
        """Tell one execution of a node; `outcome` is what it came to.

        `token` is as it came: its `traceparent` is the parent.
        """
        ...

    def ended(self, completion: CompletionMessage) -> None:
        """Tell a run as a whole: the root of its own trace."""
        ...
