"""What every workflow of the load comes to when nothing goes wrong, by the embedded engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos.oracle import Peace, Visit, comparable
from benchmarks.chaos.standin import StandIn
from benchmarks.chaos.workflows import Workflow

from onward.bootstrap.embedded import open_engine
from onward.bootstrap.settings import EmbeddedSettings
from onward.kernel.lineage import describe
from onward.kernel.records import VisitRecord

INPUTS = range(4)
"""The values of `n` that runs are started with."""

Expected = dict[tuple[str, int], Peace]


async def in_peace(load: Sequence[Workflow], standin: StandIn, folder: Path) -> Expected:
    """Return the undisturbed result of each workflow for each input."""
    async with open_engine(EmbeddedSettings(database=folder / "peace.db")) as engine:

        async def one(workflow: Workflow, n: int) -> tuple[tuple[str, int], Peace]:
            program = workflow.program
            run = await engine.start(program, program.document.source, {"n": n})
            message = await engine.wait(run)
            context: dict[str, Any] = engine.context_of(message)
            return (workflow.name, n), Peace(
                status=message.status,
                context=comparable(context, racing=workflow.racing),
                visits=visits_of(engine.history(run)),
                effects=frozenset(standin.asked.get(run, {})),
                racing=workflow.racing,
            )

        return dict(await asyncio.gather(*(one(w, n) for w in load for n in INPUTS)))


def visits_of(history: Iterable[VisitRecord]) -> Counter[Visit]:
    """Return how often each node came to what, for each item."""
    return Counter((one.node_id, describe(one.lineage), one.status) for one in history)
