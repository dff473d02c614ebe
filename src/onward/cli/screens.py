"""Ways to show what happens: not at all, or as plain lines. The live tree is in `live`."""

from __future__ import annotations

from typing import Self

from onward.cli.answers import say
from onward.cli.durations import seconds
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage
from onward.runtime.gathered import News


class Silent:
    """Shows nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def observe(self, news: News) -> None:
        """Take no note."""


class Lines(Silent):
    """A line for every node that has finished, on standard error."""

    def observe(self, news: News) -> None:
        """Write the line, if the message is about an ending."""
        if isinstance(news, CompletionMessage) or news.status not in ("success", "failed"):
            return
        item = describe(news.lineage_stack)
        where = f"{news.node_id} ({item})" if item else news.node_id
        tries = f", attempt {news.attempt}" if news.attempt > 1 else ""
        why = f": {news.error.message} [{news.error.code}]" if news.error else ""
        say(f"{news.status:7} {where} {seconds(news.duration_ms)}{tries}{why}")
