"""The verdicts on a claim, when a worker asks to execute a token: a closed sum."""

from __future__ import annotations

import msgspec


class Execute(msgspec.Struct, frozen=True):
    """Claim verdict: execute. `recorded` is an outcome to follow instead of executing again."""

    recorded: bytes | None = None


class Finish(msgspec.Struct, frozen=True):
    """Claim verdict: this message closed a scope in an earlier delivery; repeat what follows.

    `depth` is how many frames of the lineage lead to the outermost scope it closed; 0 is the run.
    """

    depth: int


class Drop(msgspec.Struct, frozen=True):
    """Claim verdict: acknowledge and do nothing.

    `why`: closed, superseded, duplicate, settled, or lost: the run's state is gone, and the process
    that notices repairs the run from its history.
    """

    why: str


class Park(msgspec.Struct, frozen=True):
    """Claim verdict: the run is paused. Park the message unchanged until the run is resumed."""


Verdict = Execute | Finish | Drop | Park
CLOSED, SUPERSEDED, DUPLICATE, SETTLED, LOST = map(
    Drop, ("closed", "superseded", "duplicate", "settled", "lost")
)
