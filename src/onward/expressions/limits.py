"""How much one evaluation may cost.

The budget is counted, not timed: the same expression on the same data costs the same everywhere,
so a run that is replayed, simulated or moved to a slower machine gets the same result.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one evaluation; exceeding one is an EXPRESSION_LIMIT error."""

    steps: int = 2_000_000
    """Work: about one per operation, plus a share of every byte copied. Some seconds at most."""
    bytes: int = 16 * 1024 * 1024
    """The largest value an expression may build, roughly as memory."""
    depth: int = 600
    """How deep data may nest, and how many levels of evaluation functions may pile up.

    Well below Python's own limit on recursion, so that where an expression is stopped does not
    depend on its caller.
    """


DEFAULT_LIMITS = Limits()
