"""Changing values: assignments, `setpath` and `delpaths`.

Values are never changed in place: what an assignment touches is copied on the way down. One
assignment copies each container once, however many paths lead through it, so `.[] |= f` is linear.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onward.expressions import purejq
from onward.expressions.meter import EvaluationMeter
from onward.expressions.operations import OPERATORS, charge, index, is_number
from onward.expressions.purejq import Tree, jq_error
from onward.expressions.scope import Compiler, NameScope
from onward.expressions.stream import Env, Filter, Flow, Path, computed_path, is_truthy


class Draft:
    """A new version of `root` in the making."""

    __slots__ = ("_height", "_meter", "_own", "_root", "_weight")

    def __init__(self, meter: EvaluationMeter, root: Any) -> None:
        self._meter = meter
        self._root = root
        self._weight, self._height = meter.measure(root)
        self._own: dict[int, Any] = {}
        """Containers that this draft made and may still change."""

    def get(self, path: Path) -> Any:
        """Return what lies at `path` now. It is the caller's from here on: it will not change."""
        value = self._root
        for key in _keys(path):
            value = index(self._meter, value, key)
        if id(value) in self._own:
            self._own.clear()
        return value

    def set(self, path: Path, value: Any) -> None:
        """Put `value` at `path`."""
        self._meter.spend(3)
        keys = _keys(path)
        weight, height = self._meter.measure(value)
        # The old value's weight goes, the new one's comes; containers on the way are counted
        # generously, which `finish` need not correct.
        self._weight += weight - self._meter.weigh(self.get(path)) + 32 * len(keys)
        self._weight += sum(len(key) for key in keys if isinstance(key, str))
        self._height = max(self._height, height + len(keys))
        if len(keys) > self._meter.limits.depth:
            self._meter.too_deep("a path is too long")
        self._root = self._put(self._root, keys, 0, value)

    def finish(self) -> Any:
        """Return the new version."""
        if not isinstance(self._root, list | dict):
            return self._meter.admit(self._root)
        if self._weight > self._meter.limits.bytes:
            return self._meter.admit(self._root)
        return self._meter.admit_as(self._root, self._weight, self._height)

    def _put(self, container: Any, keys: tuple[Any, ...], at: int, value: Any) -> Any:
        if at == len(keys):
            return value
        key = keys[at]
        self._meter.spend(1)
        if isinstance(key, str) and (container is None or isinstance(container, dict)):
            fields = self._mine(container, {})
            fields[key] = self._put(fields.get(key), keys, at + 1, value)
            return fields
        if is_number(key) and (container is None or isinstance(container, list)):
            items = self._mine(container, [])
            place = self._place(key, items)
            items[place] = self._put(items[place], keys, at + 1, value)
            return items
        if isinstance(key, dict) and (container is None or isinstance(container, list)):
            part = index(self._meter, container, key)
            new = self._put(part, keys, at + 1, value)
            self._meter.spend(len(container or []) >> 8)
            return charge(self._meter, purejq.set_path, container, [key], new)
        # Everything else is an error, and purejq has the words for it.
        return charge(self._meter, purejq.set_path, container, [key], None)

    def _mine(self, container: Any, empty: Any) -> Any:
        """Return a copy of `container` that may be changed, the same one every time."""
        if container is None:
            copy = empty
        elif id(container) in self._own:
            return container
        else:
            self._meter.spend(len(container) >> (4 if isinstance(container, dict) else 8))
            copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def _place(self, key: Any, items: list[Any]) -> int:
        """Return the position `key` means in `items`, which grows to hold it."""
        if key != key:  # noqa: PLR0124  (NaN is what does not equal itself)
            raise jq_error("Cannot set array element at NaN index")
        self._meter.announce(min(key, 1 << 60) * 8)
        place = int(max(key, -(1 << 60)) // 1)
        if place < 0:
            place += len(items)
        if place < 0:
            raise jq_error("Out of bounds negative array index")
        if place >= len(items):
            growth = place + 1 - len(items)
            self._meter.announce(self._weight + 8 * growth)
            self._meter.spend(growth >> 3)
            self._weight += 8 * growth
            items.extend([None] * growth)
        return place


def _keys(path: Path) -> tuple[Any, ...]:
    if isinstance(path, tuple):
        return path
    raise jq_error("Invalid path expression")


def set_path(meter: EvaluationMeter, root: Any, path: list[Any], value: Any) -> Any:
    """Return `root` with `value` at `path`."""
    draft = Draft(meter, root)
    draft.set(tuple(path), value)
    return draft.finish()


def delete_paths(meter: EvaluationMeter, root: Any, paths: list[Any]) -> Any:
    """Return `root` without what lies at `paths`."""
    for path in paths:
        if not isinstance(path, list):
            raise jq_error("Path must be specified as an array")
        container = root
        for key in path:
            meter.spend(1 + (len(container) >> 8 if container else 0))
            container = _inside(container, key)
    meter.spend(meter.weigh(paths) >> 2)
    return meter.admit(charge(meter, purejq.delete_paths, root, paths))


def _inside(container: Any, key: Any) -> Any:
    """Return the container under `key`, or None where the path leads nowhere."""
    if isinstance(container, dict) and isinstance(key, str):
        inner = container.get(key)
    elif isinstance(container, list) and is_number(key) and abs(key) < len(container):
        inner = container[int(key)]
    else:
        return None
    return inner if isinstance(inner, list | dict) else None


def _assignment(tree: Tree, scope: NameScope) -> Filter:
    """`paths = values`, `paths |= update`, and `paths += values` with its kin."""
    _, symbol, left, right = tree
    paths, rights = scope.compile(left), scope.compile(right)
    if symbol == "|=":
        return _update(paths, rights)
    if symbol == "=":
        return _assign(paths, rights, None)
    return _assign(paths, rights, symbol[:-1])


def _assign(paths: Filter, rights: Filter, symbol: str | None) -> Filter:
    """Return the filter that sets each path to a value, or to its own value `symbol` the value."""

    def combine(meter: EvaluationMeter, old: Any, new: Any) -> Any:
        if symbol == "//":
            return old if is_truthy(old) else new
        return OPERATORS[symbol](meter, old, new) if symbol else new

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for _, new in rights(env, None, value):
            draft = Draft(env.meter, value)
            for where, _ in paths(env, (), value):
                env.meter.spend(1)
                old = draft.get(where) if symbol else None
                draft.set(where, combine(env.meter, old, new))
            yield computed_path(path), draft.finish()

    return run


def _update(paths: Filter, updates: Filter) -> Filter:
    """Return the filter that replaces each value by what `updates` makes of it, or deletes it."""

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        draft = Draft(env.meter, value)
        gone: list[Any] = []
        for where, _ in paths(env, (), value):
            env.meter.spend(1)
            for _, new in updates(env, None, draft.get(where)):
                draft.set(where, new)
                break
            else:
                gone.append(list(_keys(where)))
        result = draft.finish()
        # Deleting comes last, so that one deletion does not move what the next one means.
        yield computed_path(path), delete_paths(env.meter, result, gone) if gone else result

    return run


UPDATE: dict[str, Compiler] = {"assign": _assignment}
