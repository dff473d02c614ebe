"""Ways to make a builtin out of a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from onward.expressions.meter import EvaluationMeter
from onward.expressions.operations import PYTHON_ERRORS, failure
from onward.expressions.purejq import FUNCTIONS, JqError
from onward.expressions.scope import FunctionName, NativeFunction
from onward.expressions.stream import Argument, Env, Flow, Path, computed_path

Plain = Callable[..., Any]
"""A function of values: (meter, value, *arguments) to one value."""


def value_function(function: Plain) -> NativeFunction:
    """Return a builtin that calls `function` for every combination of argument values."""

    def run(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
        meter, where = env.meter, computed_path(path)
        for given in combinations(arguments, value):
            meter.spend(1)
            try:
                result = function(meter, value, *given)
            except JqError:
                # The words of an error quote the value: that is work too.
                meter.spend(meter.weigh(value) >> 4)
                raise
            except PYTHON_ERRORS as error:
                raise failure(error)
            yield where, meter.admit(result)

    return NativeFunction(run, once=True)


def combinations(arguments: Sequence[Argument], value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield every combination of the arguments' values; the last argument turns slowest."""
    if not arguments:
        yield ()
        return
    *others, last = arguments
    for slow in last.vals(value):
        for fast in combinations(others, value):
            yield (*fast, slow)


class _Given:
    """An argument that is known already, in the shape purejq's builtins expect."""

    __slots__ = ("_value",)
    g = None

    def __init__(self, value: Any) -> None:
        self._value = value

    def vals(self, value: Any) -> Iterator[Any]:
        yield self._value


def borrowed(name: str, arity: int, cost: Callable[[EvaluationMeter, Any], int]) -> NativeFunction:
    """Return purejq's builtin of one value, paid for by `cost` of its operands."""
    function = FUNCTIONS[name, arity]

    def run(meter: EvaluationMeter, value: Any, *given: Any) -> Any:
        meter.spend(sum(cost(meter, operand) for operand in (value, *given)))
        return next(function(value, None, *map(_Given, given)))

    return value_function(run)


def stream_function(name: str, arity: int) -> NativeFunction:
    """Return purejq's builtin that calls its filter arguments itself, or yields many values."""
    function = FUNCTIONS[name, arity]

    def run(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
        meter = env.meter
        meter.spend(1 + sorting_cost(meter, value))
        try:
            for result in function(value, None, *arguments):
                meter.spend(1)
                yield computed_path(path), meter.admit(result)
        except PYTHON_ERRORS as error:
            raise failure(error)

    return NativeFunction(run)


def shallow_cost(meter: EvaluationMeter, value: Any) -> int:
    """The cost of looking at each item or character once."""
    return len(value) >> 4 if isinstance(value, str | list | dict) else 0


def deep_cost(meter: EvaluationMeter, value: Any) -> int:
    """The cost of looking at everything inside."""
    return meter.weigh(value) >> 3


def sorting_cost(meter: EvaluationMeter, value: Any) -> int:
    """The cost of putting the items in order."""
    return meter.weigh(value) >> 2


def function_table(
    names: str, arity: int, cost: Callable[[EvaluationMeter, Any], int]
) -> dict[FunctionName, NativeFunction]:
    """Return purejq's builtins of these `names`, all of one arity and cost."""
    return {(name, arity): borrowed(name, arity, cost) for name in names.split()}
