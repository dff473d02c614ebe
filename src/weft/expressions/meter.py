"""The meter: what one evaluation has spent, and how heavy its values are.

Three things can go wrong in an expression: it works for ever, it builds something enormous, or it
goes too deep. Work is counted in steps. Size is counted as the weight of a value *written out as a
tree*: a value that holds itself twice, thirty levels deep, is small in memory and a billion long as
text, so sharing must not hide weight. Weights are remembered per container, which keeps adding to a
list cheap; the memory is only a cache and is emptied when it holds on to too much.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from weft.errors import ExpressionError
from weft.expressions.limits import Limits

LIMIT = "EXPRESSION_LIMIT"

_SCALAR = 8
_CONTAINER = 16
_SLOT = 8


class Meter:
    """The budget of one evaluation."""

    __slots__ = ("_kept", "_kept_size", "_known", "depth", "limits", "odd_numbers", "steps")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.steps = limits.steps
        self.depth = 0
        """How deep functions have called each other at this moment."""
        self.odd_numbers = False
        """Whether a NaN or an infinity was ever part of a weighed value."""
        self._known: dict[int, tuple[int, int]] = {}
        self._kept: list[Any] = []
        self._kept_size = 0

    def spend(self, steps: int) -> None:
        """Take `steps` from the budget."""
        self.steps -= steps
        if self.steps < 0:
            self._stop(
                f"it needs more than {self.limits.steps} steps",
                "stop its loop earlier, or give it less data",
            )

    def admit(self, value: Any) -> Any:
        """Return the new `value` unless it is too large or nests too deeply."""
        weight, height = self.measure(value)
        self._check(weight, height)
        return value

    def admit_as(self, value: Any, weight: int, height: int) -> Any:
        """Like `admit` for a container whose weight and height its parts already tell."""
        self._check(weight, height)
        self.spend(3)
        self._make_room()
        self._know(value, weight, height)
        return value

    def weigh(self, value: Any) -> int:
        """Return the weight of `value`, which need not fit in the box."""
        return self.measure(value)[0]

    def announce(self, weight: int) -> None:
        """Refuse a value of `weight` before it is built."""
        self._check(weight, 0)

    def descend(self, levels: int) -> int:
        """Go `levels` deeper into function calls; return the depth to come back to."""
        before = self.depth
        self.depth = before + levels
        if self.depth > self.limits.depth:
            self.too_deep("it nests, or its functions call each other, too deeply")
        return before

    def too_deep(self, what: str) -> NoReturn:
        """Stop because of depth."""
        self._stop(what, "use a loop such as until or reduce, or flatten the data")

    def measure(self, value: Any) -> tuple[int, int]:
        """Return the weight and the height of `value`."""
        kind = type(value)
        if kind is str:
            return _SCALAR + len(value), 0
        if kind is dict or kind is list:
            known = self._known.get(id(value))
            if known is not None:
                return known
            self._make_room()
            return self._walk(value, 1)
        return self._scalar(value), 0

    def _walk(self, container: Any, level: int) -> tuple[int, int]:
        """Weigh a container that is not known yet; each distinct one is visited once."""
        if level > self.limits.depth:
            self.too_deep(f"its data nests more than {self.limits.depth} levels")
        self.spend(1 + (len(container) >> 3))
        weight, height = _CONTAINER, 0
        if type(container) is dict:
            weight += sum(map(len, container)) + 2 * _SLOT * len(container)
            children = container.values()
        else:
            weight += _SLOT * len(container)
            children = container
        known = self._known
        for child in children:
            kind = type(child)
            if kind is str:
                weight += _SCALAR + len(child)
            elif kind is dict or kind is list:
                inner = known.get(id(child)) or self._walk(child, level + 1)
                weight += inner[0]
                height = max(height, inner[1])
            else:
                weight += self._scalar(child)
        self._know(container, weight, height + 1)
        return weight, height + 1

    def _scalar(self, value: Any) -> int:
        if type(value) is int:
            return _SCALAR + value.bit_length() // 8
        if type(value) is float and not math.isfinite(value):
            self.odd_numbers = True
        return _SCALAR

    def _know(self, container: Any, weight: int, height: int) -> None:
        # The container is kept alive with its weight: a freed one's id could be taken by another.
        self._known[id(container)] = (weight, height)
        self._kept.append(container)
        self._kept_size += 200 + len(container) * (100 if type(container) is dict else _SLOT)

    def _make_room(self) -> None:
        """Forget all weights when they keep too much alive; never in the middle of a walk."""
        if self._kept_size > 2 * self.limits.bytes:
            self._known.clear()
            self._kept.clear()
            self._kept_size = 0

    def _check(self, weight: int, height: int) -> None:
        if weight > self.limits.bytes:
            self._stop(
                f"it builds a value larger than {self.limits.bytes} bytes", "give it less data"
            )
        if height > self.limits.depth:
            self.too_deep(f"it builds data nested more than {self.limits.depth} levels")

    def _stop(self, what: str, remedy: str) -> NoReturn:
        raise ExpressionError(f"the expression was stopped: {what}; {remedy}", code=LIMIT)


class Collection:
    """A list in the making, weighed as it grows."""

    __slots__ = ("_height", "_items", "_meter", "_weight")

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._items: list[Any] = []
        self._weight = _CONTAINER
        self._height = 0

    def append(self, item: Any) -> None:
        """Add `item`, unless the list grows too large."""
        weight, height = self._meter.measure(item)
        self._weight += weight + _SLOT
        self._height = max(self._height, height)
        self._meter.announce(self._weight)
        self._items.append(item)

    def finish(self) -> list[Any]:
        """Return the list."""
        self._meter.admit_as(self._items, self._weight, self._height + 1)
        return self._items
