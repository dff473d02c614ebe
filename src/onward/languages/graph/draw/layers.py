"""Layers for a drawing: which row each node is in, and in which order (after Sugiyama).

An edge that passes rows gets an empty cell in each, so that it has a lane of its own and counts
when crossings are counted. What runs inside one split stays side by side.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from itertools import pairwise

from onward.languages.graph.model import Document
from onward.languages.graph.structure import Stack, Structure

_SWEEPS = 12
# Lanes beyond this make no drawing clearer, and a hostile document could ask for millions.
_LANES = 20_000


@dataclass(slots=True)
class Cell:
    """A place in a row: a node, or the lane of an edge that passes."""

    node: str | None
    layer: int
    stack: Stack
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Region:
    """What runs inside one split, and how many splits deep it goes."""

    split: str
    cells: tuple[int, ...]
    depth: int

    @property
    def pad(self) -> float:
        """Return the room around the cells; an outer region needs more than those inside it."""
        return 6.0 + 9.0 * self.depth


@dataclass(frozen=True, slots=True)
class Layers:
    """Rows of cells, top to bottom and left to right, and the cells each edge passes."""

    cells: list[Cell]
    rows: list[list[int]]
    routes: dict[str, list[int]]
    backward: frozenset[str]
    """Edges that close a cycle; their routes run from the upper node to the lower one."""

    def regions(self) -> list[Region]:
        """Return the cells that each split encloses, inner splits before the ones around them."""
        inside: dict[str, list[int]] = {}
        depth: dict[str, int] = {}
        for place, cell in enumerate(self.cells):
            for level, split in enumerate(cell.stack):
                inside.setdefault(split, []).append(place)
                depth[split] = max(depth.get(split, 0), len(cell.stack) - level)
        found = [Region(split, tuple(cells), depth[split]) for split, cells in inside.items()]
        return sorted(found, key=lambda region: region.depth)


def arrange(document: Document, structure: Structure) -> Layers:
    """Return the rows of a document whose edges all have two different ends."""
    ranks, backward = _ranks(document, structure)
    stacks = {node.id: _stack(node.id, structure) for node in document.nodes}
    cells = [Cell(node.id, ranks[node.id], stacks[node.id]) for node in document.nodes]
    index = {node.id: place for place, node in enumerate(document.nodes)}
    routes = {}
    for edge in document.edges:
        ends = (edge.dst, edge.src) if edge.id in backward else (edge.src, edge.dst)
        routes[edge.id] = _lane(index[ends[0]], index[ends[1]], cells)
    rows: list[list[int]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for place, cell in enumerate(cells):
        rows[cell.layer].append(place)
    for row in rows:
        row.sort(key=lambda place: _group_key(place, cells, {}, {}))
    return Layers(cells, _uncross(rows, cells), routes, backward)


def _stack(node: str, structure: Structure) -> Stack:
    """Return the splits a node is drawn in; a split is drawn at the head of its own items."""
    stacks = structure.regions.get(node, frozenset())
    stack = next(iter(stacks)) if len(stacks) == 1 else ()
    return (*stack, node) if structure.nodes[node].type == "split" else stack


def _ranks(document: Document, structure: Structure) -> tuple[dict[str, int], frozenset[str]]:
    """Return each node's row (its longest path from a start) and the edges that go back."""
    ordered = set(structure.order)
    order = [*structure.order, *(node.id for node in document.nodes if node.id not in ordered)]
    position = {node: place for place, node in enumerate(order)}
    ranks = dict.fromkeys(order, 0)
    backward = set()
    for node in order:
        for edge in structure.out[node]:
            if position[edge.dst] < position[node]:
                backward.add(edge.id)
            else:
                ranks[edge.dst] = max(ranks[edge.dst], ranks[node] + 1)
    # An edge back from a lower row is drawn upwards; within a row there is nothing to reverse.
    return ranks, frozenset(backward)


def _lane(upper: int, lower: int, cells: list[Cell]) -> list[int]:
    """Return the cells from `upper` to `lower`, with an empty one in each row between."""
    if cells[upper].layer >= cells[lower].layer:
        return [upper, lower]
    between = range(cells[upper].layer + 1, cells[lower].layer)
    stack = _common(cells[upper].stack, cells[lower].stack)
    path = [upper]
    if len(cells) + len(between) <= _LANES:
        for layer in between:
            cells.append(Cell(None, layer, stack))
            path.append(len(cells) - 1)
    path.append(lower)
    for here, there in pairwise(path):
        if cells[there].layer == cells[here].layer + 1:
            cells[here].below.append(there)
            cells[there].above.append(here)
    return path


def _common(one: Stack, other: Stack) -> Stack:
    shared = []
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared.append(left)
    return tuple(shared)


def _uncross(rows: list[list[int]], cells: list[Cell]) -> list[list[int]]:
    """Return the rows in the order with the fewest crossings that a few sweeps find."""
    best, fewest = [list(row) for row in rows], _crossings(rows, cells)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            _sort_row(row, rows, cells, downwards=downwards)
        crossings = _crossings(rows, cells)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sort_row(row: list[int], rows: list[list[int]], cells: list[Cell], *, downwards: bool) -> None:
    layer = cells[row[0]].layer + (-1 if downwards else 1)
    if not 0 <= layer < len(rows):
        return
    position = {place: index for index, place in enumerate(rows[layer])}
    centre = {}
    for index, place in enumerate(row):
        near = cells[place].above if downwards else cells[place].below
        centre[place] = sum(position[other] for other in near) / len(near) if near else index
    groups: dict[Stack, list[float]] = {}
    for place in row:
        for depth in range(1, len(cells[place].stack) + 1):
            groups.setdefault(cells[place].stack[:depth], []).append(centre[place])
    means = {stack: sum(values) / len(values) for stack, values in groups.items()}
    row.sort(key=lambda place: _group_key(place, cells, centre, means))


def _group_key(
    place: int, cells: list[Cell], centre: dict[int, float], means: dict[Stack, float]
) -> tuple[tuple[float, str], ...]:
    """Return a key that keeps the cells of one split together, split inside split."""
    stack = cells[place].stack
    outer = ((means.get(stack[: d + 1], 0.0), stack[d]) for d in range(len(stack)))
    return (*outer, (centre.get(place, float(place)), ""))


def _crossings(rows: list[list[int]], cells: list[Cell]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        position = {place: index for index, place in enumerate(lower)}
        seen: list[int] = []
        for place in upper:
            ends = sorted(position[other] for other in cells[place].below)
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total
