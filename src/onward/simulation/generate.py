"""Random workflows, one per seed.

Structured at random (sequences, forks, decisions, splits, waits, failures), so that the reference
interpreter's regions are well defined, with dead ends inside any of them. Arrays may be empty,
windows narrow, time-outs short. A plan also says what its tasks do, which no document can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

Edges = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A workflow to simulate, and how its tasks behave."""

    document: dict[str, Any]
    failures: dict[str, int] = field(default_factory=dict)
    """Task -> how many of its first attempts fail; a large number is always."""
    picky: dict[str, int] = field(default_factory=dict)
    """Task -> the item index (of the innermost split) at which it fails; at others it succeeds."""
    fickle: frozenset[str] = frozenset()
    """Tasks that may have another outcome when they are executed again."""
    signals: dict[tuple[str, tuple[int, ...]], float | None] = field(default_factory=dict)
    """Wait and item -> when its signal is sent, in seconds after the run began; None: never."""
    ordered: bool = True
    """Whether the result follows from the plan alone: no races, nothing fickle."""


class _Builder:
    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)  # noqa: S311  (a simulation wants a reproducible generator)
        self.nodes: list[dict[str, Any]] = []
        self.edges: Edges = []
        self.failures: dict[str, int] = {}
        self.picky: dict[str, int] = {}
        self.fickle: set[str] = set()
        self.ordered = True

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def node(self, kind: str, parameters: dict[str, Any] | None = None) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append({"id": name, "type": kind, "parameters": parameters or {}})
        return name

    def link(self, src: str, dst: str, kind: str = "success") -> str:
        name = f"e{len(self.edges)}"
        self.edges.append({"id": name, "src": src, "dst": dst, "kind": kind})
        return name

    def find(self, name: str) -> dict[str, Any]:
        return next(node for node in self.nodes if node["id"] == name)

    # Each builder appends something after `entry` and returns the node it ends at, or None for a
    # dead end.

    def block(self, entry: str, depth: int) -> str | None:
        kinds = (
            (30, self.task),
            (14, self.decision),
            (12, self.fork),
            (20, self.split),
            (8, self.wait),
            (6, self.branch),
            (6, self.fickle_task),
            (5, self.fickle_chain),
            (3, self.crossing),
            (4, self.dead_end),
        )
        if depth > 3:
            return self.task(entry, depth)
        (build,) = self.dice.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        return build(entry, depth)

    def side(self, entry: str, depth: int) -> str | None:
        at: str | None = entry
        for _ in range(self.dice.choice([1, 1, 2])):
            at = self.block(at, depth + 1) if at else None
        return at

    def task(self, entry: str, depth: int) -> str:
        name = self.node("task")
        self.link(entry, name)
        self.trouble(name)
        return name

    def trouble(self, name: str) -> None:
        """Let some tasks fail, under every policy."""
        node = self.find(name)
        if self.chance(0.12):
            self.failures[name] = self.dice.choice([1, 2, 99])
            if self.chance(0.7):
                node["retry"] = {
                    "max_attempts": self.dice.choice([2, 3]),
                    "delay": self.dice.choice([1, 4]),
                    "backoff": self.dice.choice(["constant", "linear", "exponential"]),
                }
        elif self.chance(0.06):
            self.picky[name] = self.dice.choice([0, 1, 2])
        if name in self.failures or name in self.picky:
            node["error"] = {"type": self.dice.choice(["halt", "ignore", "ignore"])}

    def branch(self, entry: str, depth: int) -> str | None:
        """A task whose failure, if it fails, takes an error edge; the sides may merge again."""
        name = self.node("task")
        self.link(entry, name)
        if self.chance(0.6):
            self.failures[name] = 99
        rescue = self.node("task")
        edge = self.link(name, rescue, "error")
        self.find(name)["error"] = {"type": "branch", "error_edge": edge}
        good = self.side(name, depth)
        return self.join([end for end in (good, rescue) if end])

    def decision(self, entry: str, depth: int) -> str | None:
        if self.chance(0.6):
            name = self.node("conditional")
            self.link(entry, name)
            ends = [self.side(name, depth), self.side(name, depth)]
            taken = [edge["id"] for edge in self.edges if edge["src"] == name]
            salt = self.dice.randrange(2)
            self.find(name)["parameters"] = {
                "expression": f"(($index // 0) + {salt}) % 2 == 0",
                "true_edge_id": taken[0],
                "false_edge_id": taken[1],
            }
        else:
            name = self.node("switch")
            self.link(entry, name)
            ends = [self.side(name, depth) for _ in range(3)]
            taken = [edge["id"] for edge in self.edges if edge["src"] == name]
            salt = self.dice.randrange(3)
            cases = [
                {"when": f"{{{{ (($index // 0) + {salt}) % 3 == {k} }}}}", "edge_id": taken[k]}
                for k in range(2)
            ]
            self.find(name)["parameters"] = {"cases": cases, "default_edge_id": taken[2]}
        return self.join([end for end in ends if end])

    def fork(self, entry: str, depth: int) -> str | None:
        name = self.task(entry, depth)
        ends = [self.side(name, depth) for _ in range(self.dice.choice([2, 3]))]
        return self.join([end for end in ends if end])

    def join(self, ends: list[str]) -> str | None:
        if not ends or self.chance(0.1):
            return None  # every side is a leaf: no merge at all
        parameters: dict[str, Any] = {}
        roll = self.dice.random()
        if roll < 0.08:
            parameters = {"wait_mode": "wait_for_any"}
            self.ordered = self.ordered and len(ends) == 1
        elif roll < 0.16:
            parameters = {"wait_mode": "wait_for_n", "n": self.dice.randint(1, len(ends))}
            self.ordered = self.ordered and parameters["n"] == len(ends)
        if self.chance(0.15):
            # Waits and delays are whole seconds, so no arrival ever ties with a time-out.
            parameters["timeout"] = self.dice.choice([0.5, 2.5, 30.5])
        name = self.node("merge", parameters)
        for end in ends:
            self.link(end, name)
        if "timeout" in parameters:
            self.find(name)["error"] = {"type": self.dice.choice(["halt", "ignore"])}
        return name

    def split(self, entry: str, depth: int) -> str | None:
        size = self.dice.choice([0, 1, 2, 3, 3, 5])
        parameters: dict[str, Any] = {"input_array": [{"v": k} for k in range(size)]}
        if self.chance(0.4):
            parameters["max_concurrency"] = self.dice.choice([1, 2])
        if self.chance(0.1):
            parameters["batch_size"] = 2
        if self.chance(0.15):
            parameters["tolerated_failures"] = self.dice.choice([0, 1, "50%"])
        if self.chance(0.08):
            parameters["on_item_error"] = "halt"
        name = self.node("split", parameters)
        self.link(entry, name)
        self.find(name)["error"] = {"type": self.dice.choice(["halt", "ignore"])}
        sides = [self.side(name, depth) for _ in range(2 if self.chance(0.15) else 1)]
        ends = [end for end in sides if end]
        if not ends or self.chance(0.1):
            return None
        gathered: dict[str, Any] = {}
        if self.chance(0.1):
            gathered["timeout"] = self.dice.choice([0.5, 3.5, 60.5])
        if self.chance(0.3):
            gathered["collect"] = "[$item, $index]"
        aggregator = self.node("aggregator", gathered)
        self.find(aggregator)["error"] = {"type": self.dice.choice(["halt", "ignore"])}
        for end in ends:
            self.link(end, aggregator)
        return aggregator

    def wait(self, entry: str, depth: int) -> str:
        name = self.node("wait", {"amount": self.dice.choice([0, 1, 3, 20]), "unit": "seconds"})
        self.link(entry, name)
        return name

    def fickle_task(self, entry: str, depth: int) -> str | None:
        """An activity that may succeed once and fail when it is executed again."""
        name = self.node("task")
        self.link(entry, name)
        self.fickle.add(name)
        self.ordered = False
        rescue = self.node("task")
        edge = self.link(name, rescue, "error")
        self.find(name)["error"] = self.dice.choice(
            [{"type": "branch", "error_edge": edge}, {"type": "ignore"}, {"type": "halt"}]
        )
        if self.chance(0.4):
            return None
        return self.join([end for end in (self.side(name, depth), rescue) if end])

    def fickle_chain(self, entry: str, depth: int) -> str | None:
        """A fickle activity with one edge, whatever its outcome: its first child decides."""
        name = self.node("task")
        self.link(entry, name)
        self.fickle.add(name)
        self.ordered = False
        self.find(name)["error"] = {"type": "ignore"}
        return self.task(self.task(name, depth), depth)

    def crossing(self, entry: str, depth: int) -> str | None:
        """A node with two edges into it that is no merge: it runs once for each arrival."""
        fork = self.task(entry, depth)
        left, right = self.task(fork, depth), self.task(fork, depth)
        both = self.task(left, depth)
        self.link(right, both)
        self.ordered = False
        return self.join([both]) if self.chance(0.5) else self.side(both, depth)

    def dead_end(self, entry: str, depth: int) -> None:
        self.task(entry, depth)


def generate(seed: int) -> Plan:
    """Return the plan of a seed."""
    build = _Builder(seed)
    start = build.node("manual_trigger")
    at: str | None = start
    for _ in range(build.dice.choice([1, 2, 3])):
        at = build.block(at, 0) if at else None
    document = {"id": f"seed_{seed}", "nodes": build.nodes, "edges": build.edges}
    return Plan(
        document,
        build.failures,
        build.picky,
        frozenset(build.fickle),
        ordered=build.ordered,
    )
