"""How heavy values are, and a memory of it.

The weight of a value is that of the value *written out as a tree*: one that holds itself twice,
thirty levels deep, is small in memory and a billion long as text, so sharing must not hide weight.
"""

from __future__ import annotations

import math
from typing import Any

SCALAR = 8
CONTAINER = 16
SLOT = 8

Weight = tuple[int, int]
"""A weight, and how many levels of containers there are."""


class Weights:
    """What containers weigh. A cache: it may be emptied at any time between two walks."""

    __slots__ = ("_kept", "known", "odd_numbers", "size")

    def __init__(self) -> None:
        self.known: dict[int, Weight] = {}
        """By the identity of a container."""
        self._kept: list[Any] = []
        self.size = 0
        """Roughly how much memory it keeps alive."""
        self.odd_numbers = False
        """Whether a NaN or an infinity was ever part of a weighed value."""

    def get(self, container: Any) -> Weight | None:
        """Return what `container` weighs, if that is known."""
        return self.known.get(id(container))

    def know(self, container: Any, weight: Weight) -> None:
        """Remember what `container` weighs."""
        # It is kept alive with its weight: a freed one's id could be taken by another.
        self.known[id(container)] = weight
        self._kept.append(container)
        self.size += 200 + len(container) * (100 if type(container) is dict else SLOT)

    def clear(self) -> None:
        """Forget everything."""
        self.known.clear()
        self._kept.clear()
        self.size = 0

    def scalar(self, value: Any) -> int:
        """Return the weight of what is neither text nor a container."""
        if type(value) is int:
            return SCALAR + value.bit_length() // 8
        if type(value) is float and not math.isfinite(value):
            self.odd_numbers = True
        return SCALAR


class Account:
    """What evaluations that belong together share: a budget of steps, and the weights of data.

    Which weights are known already changes how long an evaluation takes, and nothing else.
    """

    __slots__ = ("left", "steps", "weights")

    ROOM = 32 * 1024 * 1024

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.left = steps
        self.weights = Weights()

    @property
    def spent(self) -> int:
        """How many steps were taken so far."""
        return self.steps - self.left

    def settle(self, left: int) -> None:
        """Note what an evaluation has left of the budget."""
        self.left = left
        if self.weights.size > self.ROOM:
            self.weights.clear()
