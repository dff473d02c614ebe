"""Coordination shared by many processes (`kernel/coordination.py` holds the rules)."""

from __future__ import annotations

from typing import Protocol

from onward.kernel.effects import Asks, R
from onward.kernel.messages import Token
from onward.kernel.verdicts import Verdict


class Coordinator(Protocol):
    """Every operation is atomic, and answers the same however often it is asked."""

    async def claim(self, token: Token) -> Verdict:
        """Return whether the holder of `token` may execute it."""
        ...

    async def answer(self, state_id: str, effect: Asks[R]) -> R:
        """Answer a question of the kernel about one state of a run."""
        ...
