"""The meter: what one evaluation has spent, and what it may still build.

Three things can go wrong in an expression: it works for ever, it builds something enormous, or it
goes too deep. Work is counted in steps, size as the weight of values (`weights.py`). Weights are
remembered per container, which keeps adding to a list cheap; the memory is emptied when it holds on
to too much. Weighing what the evaluation was given is not its work: whoever weighed it before, the
same expression takes the same steps.
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

    __slots__ = ("_account", "_beyond", "_given", "_new", "depth", "limits", "steps")

    def __init__(
        self,
        limits: Limits,
        given: tuple[Any, ...] = (),
        account: Account | None = None,
        allowance: int | None = None,
    ) -> None:
        """`given` is the data of the evaluation; Lengthy comes after `allowance` steps."""
        self.limits = limits
        self._account = account or Account(limits.steps)
        most = min(limits.steps, self._account.left)
        self.steps = most if allowance is None else min(most, allowance)
        self._beyond = most - self.steps
        """The steps that it may take elsewhere, when those at hand are used up."""
        self.depth = 0
        """How deep functions have called each other at this moment."""
        self._given: tuple[Any, ...] | None = given
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
        """Like `admit` for a container whose weight and height its parts already tell."""
        self._check(weight, height)
        self.spend(3)
        self._make_room()
        self._new.know(value, (weight, height))
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

    def measure(self, value: Any) -> Weight:
        """Return the weight and the height of `value`."""
        kind = type(value)
        if kind is str:
            return SCALAR + len(value), 0
        if kind is dict or kind is list:
            if not value:
                return _EMPTY
            known = self._new.get(value) or self._weighed(value)
            if known is not None:
                return known
            self._make_room()
            return self._walk(value, 1, self._new)
        return self._new.scalar(value), 0

    def _weighed(self, container: Any) -> Weight | None:
        """Return what a container that was given weighs; None for one that is new."""
        weights = self._account.weights
        if self._given is not None:
            given, self._given = self._given, None
            for one in given:
                if (type(one) is dict or type(one) is list) and one and weights.get(one) is None:
                    try:
                        self._walk(one, 1, weights)
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
                    inner = self._weighed(child)
                if inner is None:
                    inner = self._walk(child, level + 1, weights) if child else _EMPTY
                weight += inner[0]
                height = max(height, inner[1])
            else:
                weight += weights.scalar(child)
        weights.know(container, (weight, height + 1))
        return weight, height + 1

    def _make_room(self) -> None:
        """Forget all weights when they keep too much alive; never in the middle of a walk."""
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
