"""What goes wrong, when and to whom: all of it follows from a seed.

Faults come in groups. The faults of a group are spread evenly, each at a random moment of its own
share of time, and its variants take turns in a random order: a longer plan only adds to a shorter.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SERVICES = ("rabbitmq", "redis", "postgres")
SCHEDULERS = MASTERS = 2


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one kind."""

    every_s: float
    variants: tuple[str, ...]
    targets: tuple[str, ...] = ()
    """Empty: any worker."""
    lasts_s: tuple[float, float] = (0, 0)


GROUPS: Mapping[str, Group] = {
    "worker": Group(4, ("kill -9",)),
    "scheduler": Group(25, ("kill -9",), ("scheduler-1", "scheduler-2")),
    "master": Group(25, ("kill -9",), ("master-1", "master-2")),
    "freeze": Group(20, ("stop and go on",), lasts_s=(2, 16)),
    "lease": Group(100, ("stop and go on",), ("scheduler-1", "scheduler-2"), (31, 34)),
    "broker": Group(100, ("restart", "kill -9"), ("rabbitmq",)),
    "redis": Group(75, ("restart", "kill -9"), ("redis",)),
    "postgres": Group(100, ("restart", "immediate"), ("postgres",)),
    "cut": Group(12, ("one connection", "all connections"), SERVICES),
    "stall": Group(30, ("then go on", "then cut"), SERVICES, (2, 14)),
    "duplicate": Group(3, ("same publish id", "other publish id", "late"), ("workflow.execution",)),
    "news": Group(8, ("published twice", "late"), ("workflow.node.status", "workflow.completion")),
    "wipe": Group(60, ("FLUSHALL",), ("redis",)),
}
"""Every group by the name that `--least` uses. A worker is frozen past the broker's patience, a
scheduler past the lease of its timers."""

UNASKED = frozenset({"wipe"})
"""What happens only when it is asked for: it takes more than Redis promises to keep."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    number: int
    at_s: float
    group: str
    variant: str
    target: str
    lasts_s: float

    @property
    def kind(self) -> str:
        """What the report calls it."""
        return f"{self.group}: {self.variant}"

    def __str__(self) -> str:
        lasts = f", {self.lasts_s:.1f} s" if self.lasts_s else ""
        return f"{self.at_s:8.1f} s  {self.kind} ({self.target}{lasts})"


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides the faults, and when it is enough."""

    seed: int
    seconds: float
    workers: int
    least: Mapping[str, int] = field(default_factory=dict)
    executions: int = 0
    wipe: bool = False

    def faults(self) -> Iterator[Fault]:
        """Iterate over all faults, for ever, in the order of their times."""
        names = [name for name in GROUPS if name not in UNASKED or self.wipe]
        streams = (self._stream(name) for name in names)
        merged = heapq.merge(*streams, key=lambda fault: (fault.at_s, fault.group))
        for number, fault in enumerate(merged, 1):
            yield Fault(number, fault.at_s, fault.group, fault.variant, fault.target, fault.lasts_s)

    def within(self) -> list[Fault]:
        """Return the faults of the planned time."""
        found = []
        for fault in self.faults():
            if fault.at_s >= self.seconds:
                break
            found.append(fault)
        return found

    def enough(self, elapsed_s: float, started: int, done: Mapping[str, int]) -> bool:
        """Whether nothing is missing: time, runs, and faults of each group."""
        counted = all(done.get(group, 0) >= count for group, count in self.least.items())
        return elapsed_s >= self.seconds and started >= self.executions and counted

    def _stream(self, name: str) -> Iterator[Fault]:
        group = GROUPS[name]
        dice = random.Random(f"{self.seed}/{name}")
        every_s = group.every_s
        if self.least.get(name):
            every_s = min(every_s, self.seconds / self.least[name])
        targets = group.targets or tuple(f"worker-{n}" for n in range(1, self.workers + 1))
        turn: list[str] = []
        share = 0
        while True:
            turn = turn or dice.sample(group.variants, len(group.variants))
            at_s = (share + dice.random()) * every_s
            lasts_s = round(dice.uniform(*group.lasts_s), 1)
            yield Fault(0, at_s, name, turn.pop(), dice.choice(targets), lasts_s)
            share += 1
