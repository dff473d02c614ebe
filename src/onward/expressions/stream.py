"""What streams through an evaluation: values with their paths, and the names they may use.

A compiled filter takes an environment, a path and a value, and yields (path, value) pairs. The path
is None when paths are not needed, a tuple of keys while `path(...)` or an assignment follows one,
and `LOST` once the value was computed rather than found in the input. One filter therefore serves
as both the value and the path reading of an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from onward.expressions.meter import EvaluationMeter
from onward.expressions.purejq import describe, jq_error


class _Lost:
    """The path of a value that was computed."""


LOST: Final = _Lost()

Path = tuple[Any, ...] | _Lost | None
Flow = tuple[Path, Any]
Filter = Callable[["Env", Path, Any], Iterator[Flow]]
Key = int | str
"""A bound name: a number per binding place, or the name itself for the caller's variables."""


class Env:
    """The values of all names in scope, and the meter. Binding makes a new one.

    Every place that binds a name has its own key, so a function's body can run in its caller's
    environment: nothing there can hide a name that the body sees.
    """

    __slots__ = ("meter", "now_ms", "values")

    def __init__(self, values: Mapping[Key, Any], meter: EvaluationMeter, now_ms: int) -> None:
        self.values = values
        self.meter = meter
        self.now_ms = now_ms

    def bind(self, key: Key, value: Any) -> Env:
        """Return this environment with one more binding."""
        return Env({**self.values, key: value}, self.meter, self.now_ms)

    def bind_all(self, values: Mapping[Key, Any]) -> Env:
        """Return this environment with more bindings."""
        return Env({**self.values, **values}, self.meter, self.now_ms)


class Argument:
    """A filter handed to a function, with the environment it was written in."""

    __slots__ = ("env", "g", "once", "run")

    def __init__(self, run: Filter, env: Env, once: bool) -> None:
        self.run = run
        self.env = env
        self.once = once
        """Whether it never yields more than one value."""
        self.g = None
        """purejq's builtins ask for a shortcut here; there is none."""

    def flows(self, path: Path, value: Any) -> Iterator[Flow]:
        """Run on `value`, following paths when `path` is one."""
        return self.run(self.env, path, value)

    def vals(self, value: Any) -> Iterator[Any]:
        """Run on `value` for the values alone (the name is what purejq's builtins call)."""
        for _, result in self.run(self.env, None, value):
            yield result


def computed_path(path: Path) -> Path:
    """Return the path of a value that was computed from one at `path`."""
    return None if path is None else LOST


def extend(path: Path, key: Any, value: Any) -> Path:
    """Return the path of what lies under `key` of `value`, which is at `path`."""
    if path is None:
        return None
    if isinstance(path, _Lost):
        raise jq_error(f"Invalid path expression with result {describe(value)}")
    return (*path, key)


def is_truthy(value: Any) -> bool:
    """Return whether jq takes `value` for true: all but null and false."""
    return value is not None and value is not False
