"""Callbacks of nodes after the commit of their outcome, or when it will not be committed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from onward.kernel.messages import Token
from onward.ports.nodes.node import CommitCallback

PATIENCE_S = 60.0
"""How long a commit may take."""


class OutcomeCallbacks:
    """The callbacks of each message that is being handled; each is called once."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[CommitCallback]] = {}

    def add(self, token: Token, callback: CommitCallback) -> None:
        """Have a callback called when the outcome of a token's message is committed."""
        key = token.publish_id
        self._callbacks.setdefault(key, []).append(callback)
        asyncio.get_running_loop().call_later(PATIENCE_S, self._call, key, False)

    def committed(self, handled: Iterable[object]) -> None:
        """Call those of the messages whose outcomes are committed now."""
        if self._callbacks:
            for key in handled:
                self._call(str(key), True)

    def close(self) -> None:
        """Call the others: nothing more will be committed."""
        for key in tuple(self._callbacks):
            self._call(key, False)

    def _call(self, key: str, committed: bool) -> None:
        for callback in self._callbacks.pop(key, ()):
            callback(committed)
