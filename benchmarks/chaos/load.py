"""Starting runs at a steady rate, and probes that tell when the service is back after a fault."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.chaos.peace import INPUTS
from benchmarks.chaos.plan import Fault, Plan
from benchmarks.chaos.workflows import Workflow

from onward.bootstrap.cluster import Cluster
from onward.errors import OnwardError

TICK_S = 0.25
MOST_STARTING = 100
LOOK_S = 0.1
PROBE_S = 120
"""How long a probe is waited for before its service counts as gone."""


@dataclass(slots=True)
class Started:
    """A run that was asked for."""

    workflow: str
    n: int
    at_s: float
    accepted: bool = False
    """Whether the start was confirmed."""


class Load:
    """Every run of the campaign."""

    def __init__(self, plan: Plan, cluster: Cluster, load: Sequence[Workflow]) -> None:
        self._dice = random.Random(f"{plan.seed}/load")
        self._cluster = cluster
        self._load = load
        self._starter = cluster.starter()
        self._starting: set[asyncio.Task[bool]] = set()
        self._number = 0
        self.runs: dict[str, Started] = {}
        self.accepted = 0
        """How many starts were confirmed."""
        self.refused: Counter[str] = Counter()
        """Starts that raised, by the kind of error."""

    async def keep_on(self, rate: float) -> None:
        """Start runs until cancelled; while nothing can be started, none are saved up."""
        owed = 0.0
        try:
            while True:
                owed += rate * TICK_S
                while owed >= 1:
                    owed -= 1
                    if len(self._starting) < MOST_STARTING:
                        self._begin()
                await asyncio.sleep(TICK_S)
        finally:
            await asyncio.gather(*self._starting)

    def _begin(self) -> None:
        workflow, n = self._dice.choice(self._load), self._dice.choice(INPUTS)
        self._number += 1
        task = asyncio.create_task(self.start(f"run-{self._number}", workflow, n))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def start(self, run: str, workflow: Workflow, n: int) -> bool:
        """Start a run; False when that was refused, or nobody can say."""
        self.runs[run] = started = Started(workflow.name, n, time.monotonic())
        program = workflow.program
        try:
            await self._starter.start(program, program.document.source, {"n": n}, run)
        except (OnwardError, OSError, TimeoutError) as problem:
            self.refused[type(problem).__name__] += 1
            return False
        started.accepted = True
        self.accepted += 1
        return True

    async def ended(self, run: str) -> bool:
        """Whether a run has ended, as far as the store can say."""
        try:
            found = await self._cluster.store.execution(run)
        except OnwardError:
            return False
        return found is not None and found.ended_ms is not None


class Probes:
    """Runs that are started when a fault is over, to see when the service is back."""

    def __init__(self, load: Load, workflow: Workflow) -> None:
        self._load = load
        self._workflow = workflow
        self.took_s: defaultdict[str, list[float]] = defaultdict(list)
        self.failed: list[str] = []
        self.wiped_at_s: float | None = None
        self.repaired_s: list[float] = []
        """How long probes took that lived through a wipe: they wait for the repair."""

    async def after(self, fault: Fault) -> None:
        """Start a run now and note how long it takes until one has ended."""
        began = time.monotonic()
        for attempt in range(1, PROBE_S):
            run = f"probe-{fault.number}-{attempt}"
            if await self._load.start(run, self._workflow, 1):
                break
            await asyncio.sleep(LOOK_S)
        while not await self._load.ended(run):
            if time.monotonic() > began + PROBE_S:
                self.failed.append(f"{run}, started after {fault.kind}, took over {PROBE_S} s")
                return
            await asyncio.sleep(LOOK_S)
        wiped = self.wiped_at_s is not None and self.wiped_at_s > began
        (self.repaired_s if wiped else self.took_s[fault.kind]).append(time.monotonic() - began)
