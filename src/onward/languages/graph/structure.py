"""The shape of a graph: order, regions, pairs, and which edges matter to a merge.

A *region* is what runs in one scope: the run itself, or the body of one split. It is named by the
stack of splits around it. A split's success edges enter its region; an aggregator is the last node
inside and its own edges leave it. Everything here is decided once, at compile time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from onward.languages.graph.model import Document, EdgeDocument, NodeDocument

Stack = tuple[str, ...]
MIXED_LIMIT = 4  # more possible stacks than this say nothing new: the node is mixed


@dataclass(frozen=True, slots=True)
class Structure:
    """What `analyse` found. Unreachable nodes have no region."""

    nodes: dict[str, NodeDocument]
    out: dict[str, tuple[EdgeDocument, ...]]
    into: dict[str, tuple[EdgeDocument, ...]]
    entries: tuple[str, ...]
    order: tuple[str, ...]
    cycle: tuple[str, ...]
    regions: dict[str, frozenset[Stack]]
    stray_aggregators: tuple[str, ...]

    def aggregators_of(self, split: str) -> tuple[str, ...]:
        """Return the aggregators that gather the items of `split`, in document order."""
        return tuple(
            node.id
            for node in self.nodes.values()
            if node.type == "aggregator"
            and any(stack and stack[-1] == split for stack in self.regions.get(node.id, ()))
        )

    def beyond(self, node: str) -> tuple[EdgeDocument, ...]:
        """Return the edges that die, in the same region, when `node` is dead.

        A dead split never enters its region: what follows it is what follows its aggregators. An
        aggregator's own edges belong to the region outside, so inside nothing follows it.
        """
        match self.nodes[node].type:
            case "aggregator":
                return ()
            case "split":
                after = [edge for edge in self.out[node] if edge.kind == "error"]
                for aggregator in self.aggregators_of(node):
                    after += self.out[aggregator]
                return tuple(after)
            case _:
                return self.out[node]

    def towards_merges(self) -> frozenset[str]:
        """Return the edges from which a merge of the same region can be reached.

        Only these need marking when they are dead: no merge waits for the others.
        """
        leads: dict[str, bool] = {}
        for node in reversed(self.order):
            leads[node] = self.nodes[node].type == "merge" or any(
                leads.get(edge.dst, False) for edge in self.beyond(node)
            )
        return frozenset(
            edge.id for edges in self.out.values() for edge in edges if leads.get(edge.dst, False)
        )


def analyse(document: Document) -> Structure:
    """Return the structure of a document whose ids are unique and whose edges have both ends."""
    nodes = {node.id: node for node in document.nodes}
    out: dict[str, list[EdgeDocument]] = {node: [] for node in nodes}
    into: dict[str, list[EdgeDocument]] = {node: [] for node in nodes}
    for edge in document.edges:
        out[edge.src].append(edge)
        into[edge.dst].append(edge)
    order = _topological(nodes, out, into)
    entries = _entries(document.nodes, into)
    regions, stray = _regions(nodes, out, entries, order)
    return Structure(
        nodes=nodes,
        out={node: tuple(edges) for node, edges in out.items()},
        into={node: tuple(edges) for node, edges in into.items()},
        entries=entries,
        order=order,
        cycle=_cycle(nodes, out, order),
        regions=regions,
        stray_aggregators=stray,
    )


def is_trigger(node: NodeDocument) -> bool:
    """Return whether a run can start at `node` with its input as output."""
    return node.trigger or node.type == "manual_trigger"


def _entries(nodes: Iterable[NodeDocument], into: dict[str, list[EdgeDocument]]) -> tuple[str, ...]:
    triggers = tuple(node.id for node in nodes if is_trigger(node))
    return triggers or tuple(node.id for node in nodes if not into[node.id])


def _topological(
    nodes: Iterable[str], out: dict[str, list[EdgeDocument]], into: dict[str, list[EdgeDocument]]
) -> tuple[str, ...]:
    waiting = {node: len(edges) for node, edges in into.items()}
    ready = deque(node for node in nodes if not waiting[node])
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for edge in out[node]:
            waiting[edge.dst] -= 1
            if not waiting[edge.dst]:
                ready.append(edge.dst)
    return tuple(order)


def _cycle(
    nodes: Iterable[str], out: dict[str, list[EdgeDocument]], order: tuple[str, ...]
) -> tuple[str, ...]:
    """Return one cycle, first node repeated last, or () for a graph without one."""
    ordered = set(order)
    left = [node for node in nodes if node not in ordered]
    # A node that is left over may merely follow a cycle. Peel off those that lead nowhere among
    # the left-over ones; from what remains every walk must come back to itself.
    stuck = set(left)
    while True:
        ends = {node for node in stuck if not any(edge.dst in stuck for edge in out[node])}
        if not ends:
            break
        stuck -= ends
    if not stuck:
        return ()
    path: list[str] = []
    node = next(node for node in left if node in stuck)
    while node not in path:
        path.append(node)
        node = next(edge.dst for edge in out[node] if edge.dst in stuck)
    return (*path[path.index(node) :], node)


def _regions(
    nodes: dict[str, NodeDocument],
    out: dict[str, list[EdgeDocument]],
    entries: tuple[str, ...],
    order: tuple[str, ...],
) -> tuple[dict[str, frozenset[Stack]], tuple[str, ...]]:
    found: dict[str, set[Stack]] = {node: {()} for node in entries}
    stray: list[str] = []
    for node in order:
        stacks = found.get(node)
        if stacks is None:
            continue
        kind = nodes[node].type
        if kind == "aggregator" and () in stacks:
            stray.append(node)
        for edge in out[node]:
            there = found.setdefault(edge.dst, set())
            for stack in stacks:
                if len(there) < MIXED_LIMIT:
                    there.add(_follow(kind, node, edge, stack))
    return {node: frozenset(stacks) for node, stacks in found.items()}, tuple(stray)


def _follow(kind: str, node: str, edge: EdgeDocument, stack: Stack) -> Stack:
    if kind == "split" and edge.kind == "success":
        return (*stack, node)
    if kind == "aggregator":
        return stack[:-1]
    return stack
