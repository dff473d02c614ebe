"""What came of it, for people and for programs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.chaos.oracle import PROMISES, Problem
from rich.console import Console
from rich.table import Table

SHOWN = 20


@dataclass(slots=True)
class Report:
    """The outcome of one campaign."""

    seed: int
    seconds: float = 0
    rate: float = 0
    workflows: Mapping[str, int] = field(default_factory=dict)
    """Workflow -> runs whose start was confirmed."""
    endings: Counter[str] = field(default_factory=Counter)
    refused: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    recovery_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Kind of fault -> how long until a run that was started after it had ended."""
    settled_s: float = 0
    """From the end of the last fault until every run had ended."""
    tidy_s: float = 0
    """From there until nothing was left behind."""
    node_runs: int = 0
    effects: int = 0
    repeated: int = 0
    """Requests to the outside world beyond the first of each idempotency key."""
    copies: int = 0
    problems: list[Problem] = field(default_factory=list)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    logs: str = ""

    @property
    def runs(self) -> int:
        """How many starts were confirmed."""
        return sum(self.workflows.values())

    def broken(self) -> dict[str, int]:
        """Return how often each promise was broken."""
        counts = Counter(problem.promise for problem in self.problems)
        return {promise: counts[promise] for promise in PROMISES}

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "rate": round(self.rate, 2),
            "runs": self.runs,
            "workflows": dict(self.workflows),
            "endings": dict(self.endings),
            "refused": dict(self.refused),
            "faults": dict(self.faults),
            "recovery_s": {kind: _spread(times) for kind, times in self.recovery_s.items()},
            "settled_s": round(self.settled_s, 1),
            "tidy_s": round(self.tidy_s, 1),
            "node_runs": self.node_runs,
            "effects": self.effects,
            "repeated": self.repeated,
            "copies": self.copies,
            "broken": self.broken(),
            "problems": [str(problem) for problem in self.problems],
            "evidence": dict(self.evidence),
            "logs": self.logs,
        }

    def show(self, console: Console) -> None:
        """Print the tables, and what is broken."""
        console.print(self._faults())
        console.print(self._runs())
        console.print(self._promises())
        for problem in self.problems[:SHOWN]:
            console.print(f"BROKEN  {problem}", markup=False, highlight=False, soft_wrap=True)
        if len(self.problems) > SHOWN:
            console.print(f"and {len(self.problems) - SHOWN} more")
        if self.logs:
            console.print(f"logs and evidence: {self.logs}", soft_wrap=True, highlight=False)

    def _faults(self) -> Table:
        table = Table(title=f"Faults, seed {self.seed}", title_justify="left")
        table.add_column("fault")
        for name in ("count", "back after, median", "worst"):
            table.add_column(name, justify="right")
        for kind, count in sorted(self.faults.items()):
            spread = _spread(self.recovery_s.get(kind, ()))
            median, worst = (f"{spread[name]:.1f} s" if spread else "" for name in _SPREAD)
            table.add_row(kind, f"{count:,}", median, worst)
        table.add_section()
        table.add_row("all", f"{sum(self.faults.values()):,}")
        if repaired := _spread(self.recovery_s.get("repaired", ())):
            times = (f"{repaired[name]:.1f} s" for name in _SPREAD)
            table.add_row("runs through a wipe", "", *times)
        return table

    def _runs(self) -> Table:
        table = Table(title="Runs", title_justify="left")
        table.add_column("workflow")
        table.add_column("started", justify="right")
        for name, count in sorted(self.workflows.items()):
            table.add_row(name, f"{count:,}")
        table.add_section()
        table.add_row("all", f"{self.runs:,}")
        table.add_section()
        for status, count in sorted(self.endings.items()):
            table.add_row(status, f"{count:,}")
        for name, count in sorted(self.refused.items()):
            table.add_row(f"start refused: {name}", f"{count:,}")
        return table

    def _promises(self) -> Table:
        table = Table(title="Promises", title_justify="left")
        table.add_column("broken")
        table.add_column("times", justify="right")
        for promise, count in self.broken().items():
            table.add_row(promise, f"{count:,}", style="bold red" if count else "")
        table.add_section()
        table.add_row("seconds under load", f"{self.seconds:,.0f}")
        table.add_row("runs per second", f"{self.rate:.1f}")
        table.add_row("all ended, after the last fault", f"{self.settled_s:.1f} s")
        table.add_row("nothing left, after that", f"{self.tidy_s:.1f} s")
        table.add_row("visits in the ledger", f"{self.node_runs:,}")
        table.add_row("effects outside, once each", f"{self.effects:,}")
        table.add_row("of which asked for again", f"{self.repeated:,}")
        table.add_row("messages published twice", f"{self.copies:,}")
        return table


_SPREAD = ("median", "worst")


def _spread(times: Sequence[float]) -> dict[str, float]:
    if not times:
        return {}
    return {"median": round(statistics.median(times), 2), "worst": round(max(times), 2)}
