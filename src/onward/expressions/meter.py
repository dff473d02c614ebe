"""The meter: what one evaluation has spent, and what it may still build.

Three things can go wrong in an expression: it never ends, it builds something enormous, or it nests
too deep. Work is counted in steps, size as the weight of values (`sizes.py`). Weights are cached
per container, so that adding to a list stays cheap; the cache is emptied when it holds too much
memory. Weighing the inputs of the evaluation is not counted as its work: whether or not they were
weighed before, the same expression takes the same steps.
"""

from __future__ import annotations

from typing import Any, NoReturn

from onward.errors import ExpressionError
from onward.expressions.limits import Limits
from onward.expressions.sizes import CONTAINER, SCALAR, SLOT, Account, Weight, Weights
from onward.expressions.time_slice import TimeSliceExceeded

LIMIT = "EXPRESSION_LIMIT"
_EMPTY: Weight = (CONTAINER, 1)


class EvaluationMeter:
    """The budget of one evaluation."""

    __slots__ = ("_account", "_beyond", "_inputs", "_new", "depth", "limits", "steps")

    def __init__(
        self,
        limits: Limits,
        inputs: tuple[Any, ...] = (),
        account: Account | None = None,
        allowance: int | None = None,
    ) -> None:
        """`inputs` is the data of the evaluation; TimeSliceExceeded after `allowance` steps."""
        self.limits = limits
        self._account = account or Account(limits.steps)
        most = min(limits.steps, self._account.left)
        self.steps = most if allowance is None else min(most, allowance)
        self._beyond = most - self.steps
        """The steps beyond the allowance: another process may take them."""
        self.depth = 0
        """How deep functions have called each other at this moment."""
        self._inputs: tuple[Any, ...] | None = inputs
        """The data, until it is weighed."""
        self._new = Weights()

    @property
    def odd_numbers(self) -> bool:
        """Whether a NaN or an infinity was ever part of a weighed value."""
        return self._new.odd_numbers or self._account.weights.odd_numbers

    @property
    def spent(self) -> int:
        """How many steps were taken."""
        return min(self.limits.steps, self._account.left) - max(0, self.steps) - self._beyond

    def spend(self, steps: int) -> None:
        """Take `steps` from the budget."""
        self.steps -= steps
        if self.steps < 0:
            self._exhausted()

    def admit(self, value: Any) -> Any:
        """Return the new `value` unless it is too large or nests too deeply."""
        weight, height = self.measure(value)
        self._check(weight, height)
        return value

    def admit_as(self, value: Any, weight: int, height: int) -> Any:
        """Like `admit` for a container whose weight and height are known from its parts."""
        self._check(weight, height)
        self.spend(3)
        self._make_room()
        self._new.know(value, (weight, height))
        return value

    def weigh(self, value: Any) -> int:
        """Return the weight of `value`, which may exceed the limits."""
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

    def measure(self, value: Any) -> Weight:
        """Return the weight and the height of `value`."""
        kind = type(value)
        if kind is str:
            return SCALAR + len(value), 0
        if kind is dict or kind is list:
            if not value:
                return _EMPTY
            known = self._new.get(value) or self._weight_of_input(value)
            if known is not None:
                return known
            self._make_room()
            return self._walk(value, 1, self._new)
        return self._new.scalar(value), 0

    def _weight_of_input(self, container: Any) -> Weight | None:
        """Return the weight of a container among the inputs; None for one that is new."""
        weights = self._account.weights
        if self._inputs is not None:
            inputs, self._inputs = self._inputs, None
            for value in inputs:
                is_container = type(value) is dict or type(value) is list
                if is_container and value and weights.get(value) is None:
                    try:
                        self._walk(value, 1, weights)
                    except ExpressionError:
                        continue  # it nests too deeply: it is refused where it is used
        known = weights.get(container)
        if known is not None and known[1] > self.limits.depth:
            self._too_nested()
        return known

    def _walk(self, container: Any, level: int, weights: Weights) -> Weight:
        """Weigh a container that is not known yet; each distinct one is visited once."""
        if level > self.limits.depth:
            self._too_nested()
        work = 1 + (len(container) >> 3)
        if weights is self._new:
            self.spend(work)
        elif self._beyond:  # it takes time, but not from the budget
            self.steps -= work
            self._beyond += work
            if self.steps < 0:
                self._exhausted()
        weight, height = CONTAINER, 0
        if type(container) is dict:
            weight += sum(map(len, container)) + 2 * SLOT * len(container)
            children = container.values()
        else:
            weight += SLOT * len(container)
            children = container
        for child in children:
            kind = type(child)
            if kind is str:
                weight += SCALAR + len(child)
            elif kind is dict or kind is list:
                # No function of its own: a level of data must not take two of Python's.
                inner = weights.known.get(id(child))
                if inner is None and child and weights is self._new:
                    inner = self._weight_of_input(child)
                if inner is None:
                    inner = self._walk(child, level + 1, weights) if child else _EMPTY
                weight += inner[0]
                height = max(height, inner[1])
            else:
                weight += weights.scalar(child)
        weights.know(container, (weight, height + 1))
        return weight, height + 1

    def _make_room(self) -> None:
        """Drop all weights when they hold too much memory; never in the middle of a walk."""
        if self._new.size > 2 * self.limits.bytes:
            self._new.clear()

    def _check(self, weight: int, height: int) -> None:
        if weight > self.limits.bytes:
            self._stop(
                f"it builds a value larger than {self.limits.bytes} bytes", "give it less data"
            )
        if height > self.limits.depth:
            self.too_deep(f"it builds data nested more than {self.limits.depth} levels")

    def _too_nested(self) -> NoReturn:
        self.too_deep(f"its data nests more than {self.limits.depth} levels")

    def _exhausted(self) -> NoReturn:
        if self._beyond:
            raise TimeSliceExceeded
        self.steps = 0
        if self._account.left < self.limits.steps:
            what = "it and what was evaluated before it need more steps than there are for all"
        else:
            what = f"it needs more than {self.limits.steps} steps"
        self._stop(what, "stop its loop earlier, or give it less data")

    def _stop(self, what: str, remedy: str) -> NoReturn:
        raise ExpressionError(f"the expression was stopped: {what}; {remedy}", code=LIMIT)


class Collection:
    """A list in the making, weighed as it grows."""

    __slots__ = ("_height", "_items", "_meter", "_weight")

    def __init__(self, meter: EvaluationMeter) -> None:
        self._meter = meter
        self._items: list[Any] = []
        self._weight = CONTAINER
        self._height = 0

    def append(self, item: Any) -> None:
        """Add `item`, unless the list grows too large."""
        weight, height = self._meter.measure(item)
        self._weight += weight + SLOT
        self._height = max(self._height, height)
        self._meter.announce(self._weight)
        self._items.append(item)

    def finish(self) -> list[Any]:
        """Return the list."""
        self._meter.admit_as(self._items, self._weight, self._height + 1)
        return self._items
