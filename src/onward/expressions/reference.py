r"""References: `$fetch.body.items[0]["first name"]`, the part of jq that most parameters need.

A reference is a path into one variable. It is followed with plain dictionary and list access, by
jq's rules: null has null inside, a missing key is null, negative indices count from the end, and
anything else is an error that names both types.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from onward.errors import ExpressionError

Step = str | int

_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_STEP = rf"\.[A-Za-z_][A-Za-z0-9_]*|\[-?[0-9]{{1,15}}\]|\[{_STRING}\]"
REFERENCE_PATTERN = re.compile(rf"\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<steps>(?:{_STEP})*)")
_FIRST = rf"\.[A-Za-z_][A-Za-z0-9_]*|\.\[(?:-?[0-9]{{1,15}}|{_STRING})\]"
_PATH = re.compile(rf"\.|(?:{_FIRST})(?:{_STEP})*")
_STEPS = re.compile(_STEP)

RESERVED = frozenset({"ENV", "__loc__", "__prog_args"})
"""Names jq itself gives a meaning to: they are left to jq."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable's name and the way down into its value."""

    name: str
    steps: tuple[Step, ...]

    def follow(self, value: Any) -> Any:
        """Return what lies at the end of the path into `value`."""
        for step in self.steps:
            if value is None:
                return None
            if isinstance(step, str):
                if not isinstance(value, dict):
                    raise ExpressionError(f"cannot take {json.dumps(step)} of {_article(value)}")
                value = value.get(step)
            else:
                if not isinstance(value, list):
                    raise ExpressionError(f"cannot take item {step} of {_article(value)}")
                value = value[step] if -len(value) <= step < len(value) else None
        return value


def read_reference(match: re.Match[str]) -> Reference | None:
    """Return the reference that `PATTERN` matched, or None when the name is jq's own."""
    if match["name"] in RESERVED:
        return None
    steps = [_read_step(step) for step in _STEPS.findall(match["steps"])]
    return Reference(match["name"], tuple(steps))


def read_path(source: str) -> Reference | None:
    """Return the path into jq's input that `source` is (`.`, `.a[0]`, `.["b c"]`), or None."""
    if not _PATH.fullmatch(source):
        return None
    return Reference("", tuple(_read_step(step) for step in _STEPS.findall(source)))


def _read_step(text: str) -> Step:
    if text.startswith("."):
        return text[1:]
    inner = text[1:-1]
    return str(json.loads(inner)) if inner.startswith('"') else int(inner)


def type_name(
    value: Any,
) -> Literal["null", "boolean", "number", "string", "array", "object"]:
    """Return the JSON type of `value` in jq's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _article(value: Any) -> str:
    name = type_name(value)
    return f"an {name}" if name[0] in "ao" else f"a {name}"
