"""jq's builtin functions, guarded.

Most are purejq's own, called with their arguments already evaluated and their work charged by what
those weigh. Written here are the ones that follow paths, hand filters their input, or would be slow
or unsafe as they are. What reads the clock takes the time from the evaluation; what reads the
machine (`env`) sees nothing; what would leave the expression (`input`, `halt` ...) does not exist.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from onward.expressions.dates import DATES
from onward.expressions.loops import LOOPS
from onward.expressions.maths import NUMBERS
from onward.expressions.meter import Collection, EvaluationMeter
from onward.expressions.native import (
    deep_cost,
    function_table,
    shallow_cost,
    sorting_cost,
    stream_function,
    value_function,
)
from onward.expressions.navigation import entries
from onward.expressions.operations import add, compare, index, is_number, split
from onward.expressions.purejq import (
    contains_value,
    describe,
    encode,
    indices_of,
    items_of,
    jq_error,
    type_name,
)
from onward.expressions.regex import MATCHING
from onward.expressions.scope import FunctionName, Native, NativeFunction
from onward.expressions.stream import Argument, Env, Flow, Path, computed_path, extend, is_truthy
from onward.expressions.update import delete_paths, set_path


def _empty(env: Env, path: Path, value: Any) -> Iterator[Flow]:
    return iter(())


def _error(env: Env, path: Path, value: Any) -> Iterator[Flow]:
    env.meter.spend(deep_cost(env.meter, value))
    raise jq_error(value)


def _select(env: Env, path: Path, value: Any, condition: Argument) -> Iterator[Flow]:
    env.meter.spend(1)
    for wanted in condition.vals(value):
        if is_truthy(wanted):
            yield path, value


def _map(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    meter = env.meter
    collection = Collection(meter)
    for item in items_of(value):
        meter.spend(1)
        for result in body.vals(item):
            collection.append(result)
    yield computed_path(path), collection.finish()


def _path(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    for where, found in body.flows((), value):
        if not isinstance(where, tuple):
            raise jq_error(f"Invalid path expression with result {describe(found)}")
        yield computed_path(path), env.meter.admit(list(where))


def _get_path(env: Env, path: Path, value: Any, keys: Argument) -> Iterator[Flow]:
    for given in keys.vals(value):
        if not isinstance(given, list):
            raise jq_error("Path must be specified as an array")
        env.meter.spend(len(given))
        where, found = path, value
        for key in given:
            where, found = extend(where, key, found), index(env.meter, found, key)
        yield where, found


def _set_path(meter: EvaluationMeter, value: Any, keys: Any, new: Any) -> Any:
    if not isinstance(keys, list):
        raise jq_error("Path must be specified as an array")
    return set_path(meter, value, keys, new)


def _delete_paths(meter: EvaluationMeter, value: Any, paths: Any) -> Any:
    if not isinstance(paths, list):
        raise jq_error("Paths must be specified as an array")
    return delete_paths(meter, value, paths)


def _to_entries(meter: EvaluationMeter, value: Any) -> Any:
    items = [{"key": key, "value": item} for key, item in entries(value)]
    meter.spend(len(items))
    return items


def _from_entries(meter: EvaluationMeter, value: Any) -> Any:
    made = {}
    for entry in items_of(value):
        meter.spend(1)
        if not isinstance(entry, dict):
            raise jq_error(f'Cannot index {describe(entry)} with "key"')
        keys = [entry[name] for name in _KEYS if entry.get(name) is not None]
        key = next((key for key in keys if is_truthy(key)), keys[0] if keys else None)
        item = next((entry[name] for name in _VALUES if name in entry), None)
        made[_key(key)] = item
    return made


_KEYS = ("key", "k", "name", "Name", "Key", "K")
_VALUES = ("value", "v", "Value", "V")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return encode(key)
    raise jq_error(f"Cannot use {describe(key)} as object key")


def _add(meter: EvaluationMeter, value: Any) -> Any:
    return _sum(meter, list(items_of(value)))


def _add_of(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    items: list[Any] = []
    for item in body.vals(value):
        env.meter.spend(1)
        items.append(item)
    yield computed_path(path), _sum(env.meter, items)


def _sum(meter: EvaluationMeter, items: list[Any]) -> Any:
    """Return all items added up; texts and arrays in one go, so that it stays linear."""
    kinds = {type(item) for item in items if item is not None}
    if kinds == {str}:
        meter.announce(sum(len(item) for item in items if item is not None))
        meter.spend(len(items))
        return "".join(item for item in items if item is not None)
    if kinds == {list}:
        parts = [item for item in items if item is not None]
        meter.announce(sum(meter.weigh(part) for part in parts))
        meter.spend(len(items))
        return meter.admit(list(itertools.chain.from_iterable(parts)))
    total = None
    for item in items:
        total = add(meter, total, item)
    return total


def _join(meter: EvaluationMeter, value: Any, separator: Any) -> Any:
    items = list(items_of(value))
    if not items:
        return ""
    if not isinstance(separator, str):
        raise jq_error(f"{describe(separator)} and {describe(value)} cannot be joined")
    texts = [_joinable(item) for item in items]
    meter.spend(len(items))
    meter.announce(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _joinable(item: Any) -> str:
    if item is None:
        return ""
    if isinstance(item, str):
        return item
    if isinstance(item, list | dict):
        raise jq_error(f"{describe(item)} cannot be joined: only text and simple values can")
    return encode(item)


def _flatten(meter: EvaluationMeter, value: Any, depth: Any = 1 << 30) -> Any:
    if not is_number(depth) or depth < 0:
        raise jq_error("flatten depth must not be negative")
    meter.spend(deep_cost(meter, value))
    flat: list[Any] = []
    # Lists still to be gone through, innermost last; each with how much deeper it may open others.
    waiting = [(items_of(value), depth)]
    while waiting:
        items, left = waiting[-1]
        for item in items:
            if isinstance(item, list) and left > 0:
                waiting.append((iter(item), left - 1))
                break
            flat.append(item)
        else:
            waiting.pop()
    return flat


def _has(meter: EvaluationMeter, value: Any, key: Any) -> Any:
    if value is None:
        return False
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and is_number(key):
        return 0 <= key < len(value)
    raise jq_error(f"Cannot check whether {type_name(value)} has a {type_name(key)} key")


def _extreme(largest: bool) -> Native:
    """Return `max` or `min`; among equals jq takes the last largest and the first smallest."""

    def run(env: Env, path: Path, value: Any, *by: Argument) -> Iterator[Flow]:
        if not isinstance(value, list):
            raise jq_error(f"Cannot iterate over {describe(value)}")
        best = best_key = None
        for place, item in enumerate(value):
            key = list(by[0].vals(item)) if by else item
            order = compare(env.meter, key, best_key) if place else 0
            if not place or (order >= 0 if largest else order < 0):
                best, best_key = item, key
        yield computed_path(path), best

    return run


def _contains(meter: EvaluationMeter, value: Any, other: Any) -> Any:
    meter.spend(deep_cost(meter, value) * (1 + deep_cost(meter, other)) + deep_cost(meter, other))
    return contains_value(value, other)


def _indices(meter: EvaluationMeter, value: Any, wanted: Any) -> Any:
    if isinstance(value, dict) and isinstance(wanted, str):
        return value.get(wanted)
    if isinstance(value, str | list):
        width = len(wanted) if isinstance(wanted, list) else 1
        meter.spend(len(value) * max(width, 1))
    meter.spend(deep_cost(meter, value) + deep_cost(meter, wanted))
    return indices_of(value, wanted)


def _explode(meter: EvaluationMeter, value: Any) -> Any:
    if not isinstance(value, str):
        raise jq_error(f"{describe(value)} cannot be exploded")
    meter.announce(16 * len(value))
    meter.spend(len(value) >> 3)
    return [ord(character) for character in value]


def _split(meter: EvaluationMeter, value: Any, separator: Any) -> Any:
    if not isinstance(value, str) or not isinstance(separator, str):
        raise jq_error("split input and separator must be strings")
    return split(meter, value, separator)


NATIVE: dict[FunctionName, NativeFunction] = {
    **function_table(
        "type length infinite nan isinfinite isnan isnormal not", 0, lambda meter, value: 0
    ),
    **function_table("have_decnum have_literal_numbers", 0, lambda meter, value: 0),
    **function_table(
        "utf8bytelength keys keys_unsorted implode ascii_downcase ascii_upcase", 0, shallow_cost
    ),
    **function_table("trim ltrim rtrim reverse tonumber toboolean", 0, shallow_cost),
    **function_table("ltrimstr rtrimstr startswith endswith", 1, shallow_cost),
    **function_table("tostring tojson fromjson", 0, deep_cost),
    **function_table("sort unique", 0, sorting_cost),
    **{(name, 1): stream_function(name, 1) for name in ("sort_by", "group_by", "unique_by")},
    **{(name, 1): stream_function(name, 1) for name in ("fromstream", "truncate_stream")},
    ("tostream", 0): stream_function("tostream", 0),
    **DATES,
    **LOOPS,
    **MATCHING,
    **NUMBERS,
    ("add", 0): value_function(_add),
    ("add", 1): NativeFunction(_add_of, once=True),
    ("contains", 1): value_function(_contains),
    ("delpaths", 1): value_function(_delete_paths),
    ("empty", 0): NativeFunction(_empty, once=True),
    ("env", 0): value_function(lambda meter, value: {}),
    ("error", 0): NativeFunction(_error, once=True),
    ("explode", 0): value_function(_explode),
    ("flatten", 0): value_function(_flatten),
    ("flatten", 1): value_function(_flatten),
    ("from_entries", 0): value_function(_from_entries),
    ("getpath", 1): NativeFunction(_get_path, once=True),
    ("has", 1): value_function(_has),
    ("indices", 1): value_function(_indices),
    ("join", 1): value_function(_join),
    ("map", 1): NativeFunction(_map, once=True),
    ("max", 0): NativeFunction(_extreme(largest=True), once=True),
    ("max_by", 1): NativeFunction(_extreme(largest=True), once=True),
    ("min", 0): NativeFunction(_extreme(largest=False), once=True),
    ("min_by", 1): NativeFunction(_extreme(largest=False), once=True),
    ("path", 1): NativeFunction(_path),
    ("select", 1): NativeFunction(_select, once=True),
    ("setpath", 2): value_function(_set_path),
    ("split", 1): value_function(_split),
    ("to_entries", 0): value_function(_to_entries),
}
