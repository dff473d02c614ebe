"""Coordinates for a drawing: every cell as near to its neighbours as the others let it be."""

from __future__ import annotations

from itertools import pairwise

from onward.languages.graph.draw.layers import Layers, Region
from onward.languages.graph.structure import Stack

_PASSES = 16
_REPAIRS = 4
_GAP = 28.0
_BORDER = 22.0  # more room for each border of a split that lies between


def place_cells(layers: Layers, widths: list[float]) -> list[float]:
    """Return the x of each cell's centre, so that no two cells of a row overlap.

    Row by row, down and up in turn, cells go to the mean of their neighbours; where they would
    collide they share the difference. At last, what is not inside a split makes way for it.
    """
    placement = _Placement(layers, widths)
    for row in layers.rows:
        placement.settle(row, dict.fromkeys(row, 0.0))
    for turn in range(_PASSES):
        placement.pull(downwards=turn % 2 == 0)
    regions = layers.regions()
    for _ in range(_REPAIRS):
        for region in regions:
            placement.clear(region)
    return placement.x


class _Placement:
    def __init__(self, layers: Layers, widths: list[float]) -> None:
        self.layers = layers
        self.cells = layers.cells
        self.widths = widths
        self.x = [0.0] * len(self.cells)

    def pull(self, *, downwards: bool) -> None:
        """Move every cell towards its neighbours in the row before."""
        for row in self.layers.rows if downwards else reversed(self.layers.rows):
            wanted = {}
            for cell in row:
                above, below = self.cells[cell].above, self.cells[cell].below
                near = (above or below) if downwards else (below or above)
                mean = sum(self.x[other] for other in near) / len(near) if near else self.x[cell]
                wanted[cell] = mean
            self.settle(row, wanted)

    def settle(self, row: list[int], wanted: dict[int, float]) -> None:
        """Set the x of a row's cells as near to `wanted` as their order and widths allow.

        With the room each cell needs taken off first, what is left is the nearest sequence that
        never goes back: neighbours that would collide are pooled at their mean.
        """
        offsets = [0.0]
        for before, cell in pairwise(row):
            offsets.append(offsets[-1] + self._apart(before, cell))
        pools: list[tuple[float, int]] = []
        for cell, offset in zip(row, offsets, strict=True):
            mean, size = wanted[cell] - offset, 1
            while pools and pools[-1][0] > mean:
                other, count = pools.pop()
                mean, size = (mean * size + other * count) / (size + count), size + count
            pools.append((mean, size))
        settled = [mean for mean, size in pools for _ in range(size)]
        for cell, offset, mean in zip(row, offsets, settled, strict=True):
            self.x[cell] = mean + offset

    def clear(self, region: Region) -> None:
        """Move the cells beside a split's region out of the rectangle around it."""
        inside = set(region.cells)
        left = min(self.x[cell] - self.widths[cell] / 2 for cell in inside) - region.pad
        right = max(self.x[cell] + self.widths[cell] / 2 for cell in inside) + region.pad
        for row in self.layers.rows:
            held = [index for index, cell in enumerate(row) if cell in inside]
            if held:
                self._push(row[held[-1] + 1 :], right, 1)
                self._push(row[: held[0]][::-1], left, -1)

    def _push(self, cells: list[int], border: float, direction: int) -> None:
        """Move `cells`, nearest first, as far beyond `border` as they need."""
        for index, cell in enumerate(cells):
            nearest = border + direction * (self.widths[cell] / 2 + _BORDER / 2)
            if index:
                nearest = self.x[cells[index - 1]] + direction * self._apart(cells[index - 1], cell)
            if (nearest - self.x[cell]) * direction <= 0:
                break
            self.x[cell] = nearest

    def _apart(self, one: int, other: int) -> float:
        """Return the least distance between the centres of two neighbours in a row."""
        borders = _borders(self.cells[one].stack, self.cells[other].stack)
        return (self.widths[one] + self.widths[other]) / 2 + _GAP + _BORDER * borders


def _borders(one: Stack, other: Stack) -> int:
    """Return how many borders of splits lie between two cells."""
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return len(one) + len(other) - 2 * shared
