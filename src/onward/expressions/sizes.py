"""The weights of values, and the account of evaluations that share a budget.

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
    """The weights of containers. A cache: it may be emptied at any time between two walks."""

    __slots__ = ("_containers", "known", "odd_numbers", "size")

    def __init__(self) -> None:
        self.known: dict[int, Weight] = {}
        """By the identity of a container."""
        self._containers: list[Any] = []
        self.size = 0
        """Roughly how much memory it holds."""
        self.odd_numbers = False
        """Whether a NaN or an infinity was ever part of a weighed value."""

    def get(self, container: Any) -> Weight | None:
        """Return what `container` weighs, if that is known."""
        return self.known.get(id(container))

    def know(self, container: Any, weight: Weight) -> None:
        """Remember what `container` weighs."""
        # The container is held with its weight: the id of a freed one could be used again.
        self.known[id(container)] = weight
        self._containers.append(container)
        self.size += 200 + len(container) * (100 if type(container) is dict else SLOT)

    def clear(self) -> None:
        """Drop everything."""
        self.known.clear()
        self._containers.clear()
        self.size = 0

    def scalar(self, value: Any) -> int:
        """Return the weight of what is neither text nor a container."""
        if type(value) is int:
            return SCALAR + value.bit_length() // 8
        if type(value) is float and not math.isfinite(value):
            self.odd_numbers = True
        return SCALAR


class Account:
    """The account of evaluations that belong together: a budget of steps, and weights of data.

    Which weights are known already affects how long an evaluation takes, and nothing else.
    """

    __slots__ = ("left", "steps", "weights")

    MAX_WEIGHTS_BYTES = 32 * 1024 * 1024

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
        if self.weights.size > self.MAX_WEIGHTS_BYTES:
            self.weights.clear()
