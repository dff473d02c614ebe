"""jq's operators on values, each paid for before it runs.

The rules of each operator are purejq's. What is added: work and size are charged, integers that
leave the range of a double become infinite (as in jq) instead of growing without end, and what
Python says about impossible arithmetic becomes a jq error that `try` can catch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from onward.expressions import purejq
from onward.expressions.meter import EvaluationMeter
from onward.expressions.purejq import JqError, jq_error

PYTHON_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
    re.error,
)
"""What purejq lets slip for unusual operands: they become errors of the expression."""

_HUGE = 1 << 1024
"""One more than a double can hold."""

Operator = Callable[[EvaluationMeter, Any, Any], Any]


def number(value: Any) -> Any:
    """Return a computed number in jq's range: integral where it is exact, infinite beyond."""
    if type(value) is float:
        return int(value) if value.is_integer() and abs(value) < 1e17 else value
    if type(value) is int and not -_HUGE < value < _HUGE:
        return float("inf") if value > 0 else float("-inf")
    return value


def is_number(value: Any) -> bool:
    """Return whether `value` is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def add(meter: EvaluationMeter, left: Any, right: Any) -> Any:
    """`left + right`."""
    meter.spend(1)
    if is_number(left) and is_number(right):
        return number(left + right)
    kind = type(left)
    if kind is not type(right) or kind not in (str, list, dict):
        return charge(meter, purejq.add_values, left, right)
    (weight, height), (more, higher) = meter.measure(left), meter.measure(right)
    meter.announce(weight + more)
    meter.spend(len(left) + len(right) >> (4 if kind is dict else 8))
    result = purejq.add_values(left, right)
    if kind is str:
        return result
    return meter.admit_as(result, weight + more, max(height, higher))


def subtract(meter: EvaluationMeter, left: Any, right: Any) -> Any:
    """`left - right`; arrays lose every element that the other holds."""
    meter.spend(1)
    if is_number(left) and is_number(right):
        return number(left - right)
    if type(left) is list and type(right) is list:
        meter.spend(len(left) * len(right))
        meter.spend(meter.weigh(left) + meter.weigh(right) >> 4)
        return meter.admit(purejq.subtract_values(left, right))
    return charge(meter, purejq.subtract_values, left, right)


def multiply(meter: EvaluationMeter, left: Any, right: Any) -> Any:
    """`left * right`: numbers, a text repeated, or objects merged at every level."""
    meter.spend(1)
    if is_number(left) and is_number(right):
        return number(left * right)
    if isinstance(right, str) and is_number(left):
        left, right = right, left
    if isinstance(left, str) and is_number(right) and right > 0:
        meter.announce(min(len(left) * right, 1 << 60))
    return meter.admit(charge(meter, purejq.multiply_values, left, right))


def divide(meter: EvaluationMeter, left: Any, right: Any) -> Any:
    """`left / right`: numbers, or a text split."""
    meter.spend(1)
    if isinstance(left, str) and isinstance(right, str):
        return split(meter, left, right)
    return number(charge(meter, purejq.divide_values, left, right))


def remainder(meter: EvaluationMeter, left: Any, right: Any) -> Any:
    """`left % right`."""
    meter.spend(1)
    return charge(meter, purejq.remainder_of, left, right)


def split(meter: EvaluationMeter, text: str, separator: str) -> Any:
    """Return the pieces of `text` between separators."""
    pieces = text.count(separator) + 1 if separator else len(text)
    meter.announce(len(text) + 16 * pieces)
    meter.spend(len(text) + pieces >> 4)
    return meter.admit(purejq.divide_values(text, separator))


def compare(meter: EvaluationMeter, left: Any, right: Any) -> int:
    """Return how `left` stands to `right` in jq's order of all values: below 0, 0, or above."""
    meter.spend(1)
    if left != left:  # noqa: PLR0124  (NaN is below every number, itself included)
        return -1 if is_number(right) else purejq.compare_values(left, right)
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        meter.spend(meter.weigh(left) + meter.weigh(right) >> 4)
    return purejq.compare_values(left, right)


def charge(meter: EvaluationMeter, operation: Callable[..., Any], *operands: Any) -> Any:
    """Return `operation(*operands)`, its work charged by what the operands weigh."""
    meter.spend(sum(meter.weigh(operand) for operand in operands) >> 3)
    try:
        return operation(*operands)
    except PYTHON_ERRORS as error:
        raise failure(error)


def failure(error: Exception) -> JqError:
    """Return what Python said as an error of the expression, in words that fit there."""
    match error:
        case UnicodeError():
            words = "a text holds half a character (a lone surrogate)"
        case ValueError() if "integer string conversion" in str(error):
            words = "a number has thousands of digits"
        case OSError() | OverflowError():
            words = "a number is out of range"
        case _:
            words = str(error)
    return jq_error(f"cannot be computed: {words}")


OPERATORS: dict[str, Operator] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "==": lambda meter, left, right: compare(meter, left, right) == 0,
    "!=": lambda meter, left, right: compare(meter, left, right) != 0,
    "<": lambda meter, left, right: compare(meter, left, right) < 0,
    "<=": lambda meter, left, right: compare(meter, left, right) <= 0,
    ">": lambda meter, left, right: compare(meter, left, right) > 0,
    ">=": lambda meter, left, right: compare(meter, left, right) >= 0,
}


def index(meter: EvaluationMeter, container: Any, key: Any) -> Any:
    """`container[key]` by jq's rules."""
    if isinstance(key, list) and isinstance(container, list):
        if not key:
            return []
        meter.spend((meter.weigh(container) >> 3) * (1 + len(key)))
        return meter.admit(charge(meter, purejq.look_up, container, key))
    if isinstance(key, list | dict):
        if container is None and isinstance(key, dict):
            return None
        return meter.admit(charge(meter, purejq.look_up, container, key))
    if isinstance(key, str) and not isinstance(container, dict):
        meter.spend(len(key) >> 3)  # the words of an error quote it
    return purejq.look_up(container, key)


def cut(meter: EvaluationMeter, container: Any, start: Any, end: Any) -> Any:
    """`container[start:end]` by jq's rules."""
    for bound in (start, end):
        if bound is not None and not is_number(bound):
            raise jq_error("Start and end indices of an array slice must be numbers")
    if isinstance(container, list | str):
        meter.spend(1 + (len(container) >> 8))
    result = purejq.slice_value(container, start, end)
    return meter.admit(result) if isinstance(result, list) else result
