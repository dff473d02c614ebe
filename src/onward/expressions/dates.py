"""jq's dates. All of them are UTC, and `now` is the moment the evaluation was given."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from typing import Any

from onward.expressions.meter import EvaluationMeter
from onward.expressions.native import borrowed, shallow_cost, value_function
from onward.expressions.operations import is_number, number
from onward.expressions.purejq import FUNCTIONS, jq_error
from onward.expressions.scope import FunctionName, NativeFunction
from onward.expressions.stream import Env, Flow, Path, computed_path

_DIRECTIVE = re.compile(r"%([^a-zA-Z%]*)(.?)", re.DOTALL)
_LONGEST = 1000
_gmtime = FUNCTIONS["gmtime", 0]
_strftime = FUNCTIONS["strftime", 1]
_strptime = FUNCTIONS["strptime", 1]


def _now(env: Env, path: Path, value: Any) -> Iterator[Flow]:
    yield computed_path(path), number(env.now_ms / 1000)


def _broken_down(meter: EvaluationMeter, value: Any) -> Any:
    return next(_gmtime(value, None))


def _format(meter: EvaluationMeter, value: Any, layout: Any) -> Any:
    if not isinstance(layout, str):
        raise jq_error("strftime/1 requires a string format")
    parts = next(_gmtime(value, None)) if is_number(value) else value
    if not isinstance(parts, list):
        raise jq_error("strftime/1 requires parsed datetime inputs")
    meter.announce(256 * len(layout))
    meter.spend(8 + len(layout))
    return next(_strftime(parts, None, _Text(_universal(layout, parts))))


def _universal(layout: str, parts: list[Any]) -> str:
    """Return `layout` with the directives that depend on the machine filled in for UTC."""

    def fill(match: re.Match[str]) -> str:
        if match[1].strip("-_0^#"):
            raise jq_error(f"strftime/1 does not know {match[0]}: widths are not supported")
        match match[2]:
            case "Z":
                return "UTC"
            case "z":
                return "+0000"
            case "s":
                return str(calendar.timegm(_tuple(parts)))
            case _:
                return match[0]

    return _DIRECTIVE.sub(fill, layout)


def _tuple(parts: list[Any]) -> tuple[int, int, int, int, int, int]:
    year, month, day, hour, minute, second = (int(part) for part in parts[:6])
    return year, month + 1, day, hour, minute, second


def _parse(meter: EvaluationMeter, value: Any, layout: Any) -> Any:
    if not isinstance(value, str) or not isinstance(layout, str):
        raise jq_error("strptime/1 requires string inputs and arguments")
    if len(layout) + len(value) > _LONGEST:
        raise jq_error("strptime/1 was given more text than a date has")
    meter.spend(8 + len(layout))
    return next(_strptime(value, None, _Text(layout)))


class _Text:
    """A text in the shape of an argument of purejq's builtins."""

    def __init__(self, text: str) -> None:
        self._text = text

    def vals(self, value: Any) -> Iterator[str]:
        yield self._text


DATES: dict[FunctionName, NativeFunction] = {
    ("gmtime", 0): value_function(_broken_down),
    ("localtime", 0): value_function(_broken_down),
    ("mktime", 0): borrowed("mktime", 0, shallow_cost),
    ("now", 0): NativeFunction(_now, once=True),
    ("strflocaltime", 1): value_function(_format),
    ("strftime", 1): value_function(_format),
    ("strptime", 1): value_function(_parse),
}
