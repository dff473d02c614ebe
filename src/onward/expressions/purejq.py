"""purejq, as far as it is used here, with types. No other module imports it.

What is taken: its grammar (text to syntax tree), its rules for operators on values, its JSON text,
and those of its builtin functions that are functions of values. What is not: its evaluator, which
cannot be stopped (docs/decisions/0003-expressions.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import purejq.builtins
import purejq.encoder
import purejq.errors
import purejq.ops
import purejq.parser
from purejq.errors import JqBreak, JqError, JqParseError

__all__ = [
    "FUNCTIONS",
    "JqBreak",
    "JqError",
    "JqParseError",
    "Tree",
    "add_values",
    "apply_format",
    "compare_values",
    "contains_value",
    "delete_paths",
    "describe",
    "divide_values",
    "encode",
    "indices_of",
    "items_of",
    "jq_break",
    "jq_error",
    "look_up",
    "multiply_values",
    "parse",
    "remainder_of",
    "set_path",
    "slice_value",
    "subtract_values",
    "type_name",
]

Tree = tuple[Any, ...]
"""A node of the syntax tree: its tag, then its parts."""

_builtins: Any = purejq.builtins
_errors: Any = purejq.errors
_ops: Any = purejq.ops
_parser: Any = purejq.parser
_encoder: Any = purejq.encoder

parse: Callable[[str], Tree] = _parser.parse
encode: Callable[[Any], str] = _encoder.encode
apply_format: Callable[[str, Any], str] = _builtins.apply_format

FUNCTIONS: dict[tuple[str, int], Callable[..., Iterator[Any]]] = _builtins.PY_BUILTINS
"""Builtins by name and number of arguments: (input, environment, *arguments) to values."""

type_name: Callable[[Any], str] = _ops.type_name
compare_values: Callable[[Any, Any], int] = _ops.jq_cmp
add_values: Callable[[Any, Any], Any] = _ops.add_values
subtract_values: Callable[[Any, Any], Any] = _ops.sub_values
multiply_values: Callable[[Any, Any], Any] = _ops.mul_values
divide_values: Callable[[Any, Any], Any] = _ops.div_values
remainder_of: Callable[[Any, Any], Any] = _ops.mod_values
contains_value: Callable[[Any, Any], bool] = _ops.contains_value
indices_of: Callable[[Any, Any], Any] = _ops.indices_impl
look_up: Callable[[Any, Any], Any] = _ops.index_value
slice_value: Callable[[Any, Any, Any], Any] = _ops.slice_value
set_path: Callable[[Any, list[Any], Any], Any] = _ops.set_path
delete_paths: Callable[[Any, list[Any]], Any] = _ops.delpaths_impl


def describe(value: Any) -> str:
    """Return a value's type and its beginning, for error messages; however large it is."""
    text: str = _ops.describe(_beginning(value, [_SHOWN]))
    return text


_SHOWN = 40
"""How many parts of a value, and characters of a text, are more than is shown."""


def _beginning(value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if isinstance(value, str):
        return value[:_SHOWN]
    if isinstance(value, list):
        return [_beginning(item, left) for item in value[:_SHOWN] if left[0] > 0]
    if isinstance(value, dict):
        return {
            key[:_SHOWN]: _beginning(item, left)
            for key, item in itertools.islice(value.items(), _SHOWN)
            if left[0] > 0
        }
    return value


def items_of(value: Any) -> Iterator[Any]:
    """Return the items of an array or the values of an object."""
    if isinstance(value, list):
        return iter(value)
    if isinstance(value, dict):
        return iter(value.values())
    raise jq_error(f"Cannot iterate over {describe(value)}")


def jq_error(value: Any) -> JqError:
    """Return an error that jq's `try` can catch; `value` is what `catch` sees."""
    error: JqError = _errors.JqError(value)
    return error


def jq_break(label: object) -> JqBreak:
    """Return what leaves the body of a `label`."""
    leaving: JqBreak = _errors.JqBreak(label)
    return leaving
