"""Runs shown without a drawing: not at all, or as a line for each node. Imports no rich."""

from __future__ import annotations

from typing import Self

from onward.cli.output.console import say
from onward.cli.output.durations import seconds
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, RunMessage


class SilentScreen:
    """Shows nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def observe(self, message: RunMessage) -> None:
        """Ignore the message."""


class LineScreen(SilentScreen):
    """Writes a line for every node that has finished to standard error."""

    def observe(self, message: RunMessage) -> None:
        """Write the line, if the message says that a node has finished."""
        if isinstance(message, CompletionMessage) or message.status not in ("success", "failed"):
            return
        item = describe(message.lineage_stack)
        where = f"{message.node_id} ({item})" if item else message.node_id
        attempt = f", attempt {message.attempt}" if message.attempt > 1 else ""
        why = f": {message.error.message} [{message.error.code}]" if message.error else ""
        say(f"{message.status:7} {where} {seconds(message.duration_ms)}{attempt}{why}")
