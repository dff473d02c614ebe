"""Waits of a plan that become waits for signals, and the signals that are sent to them.

Signals arrive before their wait, while it lasts, too late, twice, where none waits for them, and
after the run has ended. The shape of the workflow stays that of its seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

from onward.languages.graph.document import parse_definition
from onward.languages.graph.structure import analyse
from onward.simulation.generate import Plan

SEND_TIMES_S = (0, 0, 1, 3, 20)
"""When a signal is sent, in seconds after the run began: whole ones, so none ties with a limit."""
SIGNALS_PER_WAIT = 16
"""Signals for each wait of a plan in which a node may run more than once for each item."""


@dataclass(frozen=True, slots=True)
class Send:
    """One signal that is sent."""

    at_s: float
    address: str
    signal_id: str
    value: Any


def with_signals(plan: Plan, seed: int) -> tuple[Plan, list[Send]] | None:
    """Return the plan with a signal for every wait, and what to send; None: it has no wait."""
    dice = Random(seed + 2)  # noqa: S311  (a simulation wants a reproducible generator)
    nodes = plan.document["nodes"]
    waits = {node["id"]: _signal_wait(node, dice) for node in nodes if node["type"] == "wait"}
    if not waits:
        return None
    document = {**plan.document, "nodes": [waits.get(node["id"], node) for node in nodes]}
    signals: dict[tuple[str, tuple[int, ...]], float | None] = {}
    sends: list[Send] = [Send(0, "nobody", "stray", None), Send(1e6, "late", "stray", None)]
    for name, node in waits.items():
        for key, path in _items_of(document, name):
            never = "timeout" in node["parameters"] and dice.random() < 0.3
            signals[name, path] = at = None if never else dice.choice(SEND_TIMES_S)
            if at is not None:
                sends += _sends(plan, name, key, path, at, dice)
    return replace(plan, document=document, signals=signals), sends


def _signal_wait(node: dict[str, Any], dice: Random) -> dict[str, Any]:
    """Return a node that waits for a signal of its own name instead of a time."""
    parameters: dict[str, Any] = {"signal": node["id"]}
    waiting = {**node, "type": "wait_for_signal", "parameters": parameters}
    if dice.random() < 0.4:
        parameters["timeout"] = dice.choice([0.5, 2.5, 10.5])
        waiting["error"] = {"type": dice.choice(["halt", "ignore", "ignore"])}
    return waiting


def _sends(
    plan: Plan, name: str, key: str, path: tuple[int, ...], at: float, dice: Random
) -> list[Send]:
    address = f"{name}/{key}" if key else name
    value = {"signal": name, "path": list(path)}
    count = 1 if plan.ordered else SIGNALS_PER_WAIT
    sends = [Send(at, address, str(number), value) for number in range(count)]
    if dice.random() < 0.3:
        sends.append(replace(sends[0], at_s=at + dice.choice([0, 2])))  # the same signal again
    return sends


def _items_of(document: dict[str, Any], name: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return every item that a node may be visited in: as people write it, and by its indexes."""
    structure = analyse(parse_definition(document))
    items = []
    for stack in structure.regions.get(name, ()):
        sizes = [range(_size_of(structure.nodes[split].parameters)) for split in stack]
        for path in product(*sizes):
            key = " > ".join(f"{split}[{index}]" for split, index in zip(stack, path, strict=True))
            items.append((key, path))
    return items


def _size_of(parameters: Any) -> int:
    size: int = parameters.get("batch_size", 1)
    return -(-len(parameters["input_array"]) // size)
