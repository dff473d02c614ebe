"""What a worker is told when it asks to execute a token: a closed sum."""

from __future__ import annotations

import msgspec


class Execute(msgspec.Struct, frozen=True):
    """Claim verdict: execute. `recorded` is an outcome to follow instead of executing again."""

    recorded: bytes | None = None


class Finish(msgspec.Struct, frozen=True):
    """Claim verdict: you closed a scope before you died; repeat what follows from that.

    `depth` is how many frames of the lineage lead to the outermost scope you closed; 0 is the run.
    """

    depth: int


class Drop(msgspec.Struct, frozen=True):
    """Claim verdict: acknowledge and do nothing.

    `why`: closed, superseded, duplicate, settled, or lost: the run's state is gone, and whoever
    finds that out repairs the run from its history.
    """

    why: str


class Park(msgspec.Struct, frozen=True):
    """Claim verdict: the run is paused. Keep the message as it is until the run goes on."""


Verdict = Execute | Finish | Drop | Park
CLOSED, SUPERSEDED, DUPLICATE, SETTLED, LOST = map(
    Drop, ("closed", "superseded", "duplicate", "settled", "lost")
)
