"""jq's mathematics. Where C would say NaN or infinity Python raises; here it is C's answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from onward.expressions.meter import EvaluationMeter
from onward.expressions.native import value_function
from onward.expressions.operations import is_number, number
from onward.expressions.purejq import FUNCTIONS, describe, jq_error
from onward.expressions.scope import FunctionName, NativeFunction

_EXACT_BITS = 1024


def _safely(function: Callable[..., Any], *operands: Any) -> Any:
    for operand in operands:
        if not is_number(operand):
            raise jq_error(f"{describe(operand)} number required")
    try:
        result = function(*operands)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan
    return math.nan if isinstance(result, complex) else number(result)


def _of_input(name: str) -> NativeFunction:
    function = FUNCTIONS[name, 0]
    return value_function(
        lambda meter, value: _safely(lambda operand: next(function(operand, None)), value)
    )


def _of_arguments(function: Callable[..., Any]) -> NativeFunction:
    return value_function(lambda meter, value, *operands: _safely(function, *operands))


def _power(base: Any, exponent: Any) -> Any:
    """Exact for integers while the result is of modest size, a double beyond."""
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    if whole and (base.bit_length() - 1) * exponent <= _EXACT_BITS:
        return base**exponent
    if base == 0 and exponent < 0:
        return math.inf
    return float(base) ** float(exponent)


def _parts(meter: EvaluationMeter, value: Any) -> Any:
    fraction, whole = math.modf(value)
    return [number(fraction), number(whole)]


_INPUT = (
    "floor ceil round trunc fabs sqrt exp exp2 exp10 log log2 log10 sin cos tan asin acos atan "
    "sinh cosh tanh asinh acosh atanh cbrt significand logb gamma lgamma tgamma nearbyint"
)

NUMBERS: dict[FunctionName, NativeFunction] = {
    **{(name, 0): _of_input(name) for name in _INPUT.split()},
    ("atan2", 2): _of_arguments(math.atan2),
    ("copysign", 2): _of_arguments(math.copysign),
    ("drem", 2): _of_arguments(math.remainder),
    ("fma", 3): _of_arguments(lambda a, b, c: a * b + c),
    ("fmax", 2): _of_arguments(max),
    ("fmin", 2): _of_arguments(min),
    ("fmod", 2): _of_arguments(math.fmod),
    ("frexp", 0): value_function(lambda meter, value: list(math.frexp(value))),
    ("hypot", 2): _of_arguments(math.hypot),
    ("ldexp", 2): _of_arguments(lambda base, exponent: math.ldexp(base, int(exponent))),
    ("modf", 0): value_function(_parts),
    ("pow", 2): _of_arguments(_power),
    ("scalb", 2): _of_arguments(lambda base, exponent: math.ldexp(base, int(exponent))),
    ("scalbln", 2): _of_arguments(lambda base, exponent: math.ldexp(base, int(exponent))),
}
