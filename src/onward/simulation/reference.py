"""The reference: the result that a workflow must have, computed by plain recursion.

It knows nothing of messages, tokens, scopes or barriers. It walks the graph region by region in
topological order; an edge is taken (with a context and a time) or it is not. Time is arithmetic:
tasks take none, waits and retry delays add up.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onward.expressions.jq import compile_jq
from onward.kernel.retry import RetryPolicy
from onward.languages.graph.model import Document, EdgeDocument, NodeDocument
from onward.languages.graph.structure import Stack, Structure, analyse
from onward.simulation.generate import Plan
from onward.simulation.tasks import task_error, task_output

Context = dict[str, Any]
STATUS_OF_ERROR = {"MERGE_TIMEOUT": "failed", "AGGREGATOR_TIMEOUT": "failed"}


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """How a run ends: with this context, or with one of these errors (code -> status).

    Of two failures at the same time either is right: the run takes the one it sees first.
    """

    context: Context = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


class _Halt(Exception):  # noqa: N818  (a jump, not an error)
    """A failure that nothing handles, at a time."""

    def __init__(self, at: float, code: str) -> None:
        self.at = at
        self.code = code


@dataclass(slots=True)
class _Region:
    """The state of the walk through one region."""

    path: tuple[int, ...]
    taken: dict[str, tuple[Context, float]] = field(default_factory=dict)
    doomed: dict[str, float] = field(default_factory=dict)
    """Edges that would still have been taken, had the region not halted at this time."""
    leaves: list[tuple[int, Context]] = field(default_factory=list)
    gathered: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    halts: list[_Halt] = field(default_factory=list)
    end: float = 0.0


class _ItemResults(NamedTuple):
    """The items of a split: the slot of each, when each ended, and when those failed that did."""

    slots: list[Context]
    ends: list[float]
    failures: list[float]


class ReferenceInterpreter:
    """The interpreter of one plan."""

    def __init__(self, plan: Plan, document: Document) -> None:
        self.plan = plan
        self.structure: Structure = analyse(document)
        self.order = {name: rank for rank, name in enumerate(self.structure.order)}
        self.tied = False
        """Whether something happened exactly at a time-out: then both results are right."""

    def run(self, given: Any) -> ExpectedEnd:
        """Return how a run with input `given` ends."""
        region = _Region(())
        (entry,) = self.structure.entries
        context = {"$trigger": given, f"${entry}": given}
        self._leave(region, self.structure.nodes[entry], context, 0.0)
        try:
            self._walk(region, ())
        except _Halt as halt:
            first = [other.code for other in region.halts if other.at == halt.at]
            return ExpectedEnd(errors={code: STATUS_OF_ERROR.get(code, "halted") for code in first})
        final: Context = {}
        for _, leaf in sorted(region.leaves, key=lambda pair: pair[0]):
            final |= leaf
        return ExpectedEnd(final)

    def _walk(self, region: _Region, stack: Stack) -> None:
        """Visit the nodes of a region in order; raise the earliest failure that nothing handled."""
        for name in self.structure.order:
            if stack not in self.structure.regions.get(name, ()):
                continue
            node, into = self.structure.nodes[name], self.structure.into[name]
            taken = [edge for edge in into if edge.id in region.taken]
            doomed = [region.doomed[edge.id] for edge in into if edge.id in region.doomed]
            try:
                if doomed and (node.type == "merge" or not taken):
                    self._doom(region, node, [region.taken[edge.id] for edge in taken], doomed)
                elif node.type == "merge" and taken:
                    self._merge(region, node, [region.taken[edge.id] for edge in taken])
                elif node.type == "aggregator":
                    self._gather(region, node, taken)
                else:
                    for edge in taken:
                        context, at = region.taken[edge.id]
                        region.end = max(region.end, at)
                        self._visit(region, node, context, at, stack)
            except _Halt as halt:
                region.halts.append(halt)
                self._block(region, node, halt.at)
        if region.halts:
            raise min(region.halts, key=lambda halt: halt.at)

    def _doom(
        self,
        region: _Region,
        node: NodeDocument,
        arrivals: list[tuple[Context, float]],
        doomed: list[float],
    ) -> None:
        """Handle a node whose edges are not all decided when the region halts; it may time out."""
        patience = node.parameters.get("timeout") if node.type == "merge" else None
        if arrivals and patience is not None:
            limit = min(at for _, at in arrivals) + patience
            self._tie(limit, doomed)
            if limit < min(doomed):
                self._expire(region, node, arrivals, limit)
                return
        self._block(region, node, min(doomed))

    def _tie(self, limit: float, times: list[float]) -> None:
        self.tied = self.tied or limit in times

    def _block(self, region: _Region, node: NodeDocument, at: float) -> None:
        for edge in self.structure.beyond(node.id):
            if edge.id not in region.taken:
                region.doomed[edge.id] = at

    def _gather(self, region: _Region, node: NodeDocument, taken: list[EdgeDocument]) -> None:
        for edge in taken:
            context, at = region.taken[edge.id]
            region.end = max(region.end, at)
            before = self.structure.nodes[edge.src]
            value = context.get("$item" if before.type == "split" else f"${edge.src}")
            if "collect" in node.parameters:
                value = [context["$item"], context["$index"]]
            rank = self.structure.into[node.id].index(edge)
            region.gathered.setdefault(node.id, []).append((rank, value))

    def _visit(
        self,
        region: _Region,
        node: NodeDocument,
        context: Context,
        at: float,
        stack: Stack,
    ) -> None:
        match node.type:
            case "task":
                self._task(region, node, context, at)
            case "wait":
                done = at + node.parameters["amount"]
                self._leave(region, node, context | {f"${node.id}": "resumed"}, done)
            case "wait_for_signal":
                self._signal(region, node, context, at)
            case "conditional":
                result = self._true(node.parameters["expression"], context)
                edge = node.parameters["true_edge_id" if result else "false_edge_id"]
                context = context | {f"${node.id}": {"result": result}}
                self._leave(region, node, context, at, (edge,))
            case "switch":
                self._switch(region, node, context, at)
            case "split":
                self._split(region, node, context, at, stack)
            case _:
                raise NotImplementedError(node.type)

    def _signal(self, region: _Region, node: NodeDocument, context: Context, at: float) -> None:
        sent = self.plan.signals[node.id, region.path]
        limit = at + node.parameters.get("timeout", math.inf)
        if sent is None or sent > limit:
            self._fail(region, node, context, limit, "EXPIRED")
            return
        output = {"signal": node.id, "path": list(region.path)}
        self._leave(region, node, context | {f"${node.id}": output}, max(at, sent))

    def _true(self, expression: str, context: Context) -> bool:
        index = {"index": context.get("$index")}
        return compile_jq(expression).evaluate(None, index) not in (None, False)

    def _switch(self, region: _Region, node: NodeDocument, context: Context, at: float) -> None:
        for index, case in enumerate(node.parameters["cases"]):
            if self._true(case["when"], context):
                context = context | {f"${node.id}": {"case": index}}
                self._leave(region, node, context, at, (case["edge_id"],))
                return
        context = context | {f"${node.id}": {"case": "default"}}
        self._leave(region, node, context, at, (node.parameters["default_edge_id"],))

    def _task(self, region: _Region, node: NodeDocument, context: Context, at: float) -> None:
        attempt = 1
        while True:
            error = task_error(self.plan, node.id, region.path, attempt)
            if error is None:
                output = task_output(node.id, region.path, attempt)
                self._leave(region, node, context | {f"${node.id}": output}, at)
                return
            delay_ms = (node.retry or RetryPolicy()).delay_ms(attempt, error.code, 0)
            if delay_ms is None:
                self._fail(region, node, context, at, error.code)
                return
            at += delay_ms / 1000
            attempt += 1

    def _fail(
        self, region: _Region, node: NodeDocument, context: Context, at: float, code: str
    ) -> None:
        context = context | {f"${node.id}": {"error": code}}
        if node.error.type == "halt":
            raise _Halt(at, code)
        if node.error.type == "branch":
            self._leave(region, node, context, at, (node.error.error_edge or "",))
        else:
            self._leave(region, node, context, at)

    def _leave(
        self,
        region: _Region,
        node: NodeDocument,
        context: Context,
        at: float,
        chosen: tuple[str, ...] | None = None,
    ) -> None:
        """Take the chosen edges, or all success edges; without any the path ends here."""
        region.end = max(region.end, at)
        if chosen is None:
            edges = self.structure.out[node.id]
            chosen = tuple(edge.id for edge in edges if edge.kind == "success")
        for edge in chosen:
            region.taken[edge] = (context, at)
        if not chosen:
            region.leaves.append((self.order[node.id], context))

    def _merge(
        self, region: _Region, node: NodeDocument, arrivals: list[tuple[Context, float]]
    ) -> None:
        times = sorted(at for _, at in arrivals)
        region.end = max(region.end, times[-1])
        into = [edge for edge in self.structure.into[node.id] if edge.id in region.taken]
        needed = len(times)
        if node.parameters.get("wait_mode") == "wait_for_any":
            needed = 1
        elif node.parameters.get("wait_mode") == "wait_for_n":
            needed = min(node.parameters["n"], needed)
        patience = node.parameters.get("timeout")
        if patience is not None:
            self._tie(times[0] + patience, times)
        if patience is not None and times[needed - 1] > times[0] + patience:
            self._expire(region, node, arrivals, times[0] + patience)
            return
        united: Context = {}
        outputs = []
        for edge, (context, _) in zip(into, arrivals, strict=True):
            united |= context
            before = self.structure.nodes[edge.src]
            outputs.append(context.get("$item" if before.type == "split" else f"${edge.src}"))
        self._leave(region, node, united | {f"${node.id}": outputs}, times[needed - 1])

    def _expire(
        self,
        region: _Region,
        node: NodeDocument,
        arrivals: list[tuple[Context, float]],
        limit: float,
    ) -> None:
        united: Context = {}
        for context, at in arrivals:
            if at <= limit:
                united |= context
        self._fail(region, node, united, limit, "MERGE_TIMEOUT")

    def _split(
        self,
        region: _Region,
        node: NodeDocument,
        context: Context,
        at: float,
        stack: Stack,
    ) -> None:
        items = list(node.parameters["input_array"])
        size = node.parameters.get("batch_size", 1)
        if size > 1:
            items = [items[start : start + size] for start in range(0, len(items), size)]
        slots, ends, failures = self._run_items(region, node, context, at, stack, items)
        names = self.structure.aggregators_of(node.id)
        patience = [
            (at + limit, name)
            for name in names
            if (limit := self.structure.nodes[name].parameters.get("timeout")) is not None
        ]
        done = max(ends, default=at)
        over = self._time_overspent(node, len(items), failures)
        for limit, _ in patience:
            self._tie(limit, [done, *failures])
        if patience and items and min(patience)[0] < (done if over is None else over):
            when, name = min(patience)
            aggregator = self.structure.nodes[name]
            self._fail(region, aggregator, context, when, "AGGREGATOR_TIMEOUT")
            return
        if over is not None:
            self._fail_split(region, node, context, over)
            return
        for name in names:
            context = context | {f"${name}": [slot.get(name) for slot in slots]}
        if not names:
            self._leave(region, node, context, done, ())
        for name in names:
            self._leave(region, self.structure.nodes[name], context, done)

    def _fail_split(self, region: _Region, node: NodeDocument, context: Context, at: float) -> None:
        if node.error.type == "halt":
            raise _Halt(at, "SPLIT_FAILED")
        context = context | {f"${node.id}": {"error": "SPLIT_FAILED"}}
        names = self.structure.aggregators_of(node.id)
        edges = [
            edge.id for name in names for edge in self.structure.out[name] if edge.kind == "success"
        ]
        self._leave(region, node, context, at, tuple(edges))

    def _time_overspent(
        self, node: NodeDocument, total: int, failures: list[float]
    ) -> float | None:
        budget = node.parameters.get("tolerated_failures")
        if node.parameters.get("on_item_error") == "halt":
            budget = 0
        if isinstance(budget, str):
            budget = int(total * float(budget.rstrip("%")) / 100)
        if budget is None or len(failures) <= budget:
            return None
        return sorted(failures)[budget]

    def _run_items(
        self,
        region: _Region,
        node: NodeDocument,
        context: Context,
        at: float,
        stack: Stack,
        items: list[Any],
    ) -> _ItemResults:
        """Run every item; a narrow window starts the next one when one is done."""
        window = node.parameters.get("max_concurrency") or max(1, len(items))
        running: list[float] = []
        results = _ItemResults([], [], [])
        names = self.structure.aggregators_of(node.id)
        for index, item in enumerate(items):
            start = at if len(running) < window else heapq.heappop(running)
            inside = _Region((*region.path, index), end=start)
            for edge in self.structure.out[node.id]:
                if edge.kind == "success":
                    own = context | {"$item": item, "$index": index}
                    inside.taken[edge.id] = (own, start)
            try:
                self._walk(inside, (*stack, node.id))
                results.slots.append(
                    {name: min(found)[1] for name, found in inside.gathered.items()}
                )
                end = inside.end
            except _Halt as halt:
                results.slots.append(dict.fromkeys(names, "ERROR"))
                results.failures.append(halt.at)
                end = halt.at
            heapq.heappush(running, end)
            results.ends.append(end)
        return results
