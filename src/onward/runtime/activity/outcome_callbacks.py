"""Who is to be told when the outcome of an activity is kept, and when it will not be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from onward.kernel.messages import Token
from onward.ports.nodes.node import Told

PATIENCE_S = 60.0
"""How long an outcome may take to be kept."""


class OutcomeCallbacks:
    """Of each message that is being handled: who waits for the end of its handling."""

    def __init__(self) -> None:
        self._open: dict[str, list[Told]] = {}

    def add(self, token: Token, told: Told) -> None:
        """Have somebody told about the message of a token."""
        key = token.publish_id
        self._open.setdefault(key, []).append(told)
        asyncio.get_running_loop().call_later(PATIENCE_S, self._tell, key, False)

    def keep(self, handled: Iterable[object]) -> None:
        """What came of these messages is kept: whoever waits for that is told."""
        if self._open:
            for key in handled:
                self._tell(str(key), True)

    def close(self) -> None:
        """Tell the others that nothing more will be kept."""
        for key in tuple(self._open):
            self._tell(key, False)

    def _tell(self, key: str, kept: bool) -> None:
        for told in self._open.pop(key, ()):
            told(kept)
