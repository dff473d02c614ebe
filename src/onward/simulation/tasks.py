"""The outcomes of the tasks of a plan: known in advance, so that engine and reference can agree."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.outcome import NodeError
from onward.simulation.generate import Plan


class SimulatedTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulated activity; the plan has its outcome."""


def task_output(node: str, path: tuple[int, ...], attempt: int) -> dict[str, Any]:
    """Return the output of a task that succeeds."""
    return {"task": node, "path": list(path), "attempt": attempt}


def task_error(plan: Plan, node: str, path: tuple[int, ...], attempt: int) -> NodeError | None:
    """Return why a task fails at this attempt, or None if it succeeds."""
    if attempt <= plan.failures.get(node, 0):
        return NodeError(f"{node} failed as planned", "PLANNED")
    if node in plan.picky and path and path[-1] == plan.picky[node]:
        return NodeError(f"{node} does not like item {path[-1]}", "PICKY")
    return None
