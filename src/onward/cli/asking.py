"""One question to a cluster: connect, ask, and turn an outage into its exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from onward.cli import cluster

if TYPE_CHECKING:
    from onward.bootstrap.distributed import Cluster

Question = Callable[["Cluster"], Awaitable[int]]
"""Ask, print the answer, and return the exit code."""


def ask_cluster(question: Question, **places: Any) -> int:
    """Return the question's exit code, or 7 when a service is away or will not do."""
    from onward.bootstrap import configure_log

    settings = cluster.settings_of(**places)
    from onward.bootstrap.distributed import open_cluster
    from onward.cli.answers import say
    from onward.cli.outages import outage_of

    configure_log(level="warning")

    async def ask() -> int:
        async with open_cluster(settings) as at:
            return await question(at)

    try:
        return asyncio.run(ask())
    except Exception as problem:
        outage = outage_of(problem)
        if outage is None:
            raise
        say(f"Error: {outage}")
        return cluster.UNAVAILABLE
