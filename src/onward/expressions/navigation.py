"""Filters that find values: fields, items, slices, variables, and the pipe that chains them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.operations import cut, index
from onward.expressions.purejq import Tree, describe, items_of, jq_error
from onward.expressions.scope import Compiler, NameScope
from onward.expressions.stream import Env, Filter, Flow, Path, computed_path, extend


def _identity(tree: Tree, scope: NameScope) -> Filter:
    return lambda env, path, value: iter(((path, value),))


def constant(value: Any) -> Filter:
    """Return the filter that always yields `value`."""
    return lambda env, path, _: iter(((computed_path(path), value),))


def _field(tree: Tree, scope: NameScope) -> Filter:
    _, base, name = tree
    return _indexed(base, ("const", name), scope)


def _index(tree: Tree, scope: NameScope) -> Filter:
    _, base, key = tree
    return _indexed(base, key, scope)


def _indexed(base: Tree, key: Tree, scope: NameScope) -> Filter:
    """Return `base[key]`. A constant key of `$node` tells which node is meant."""
    keys = scope.compile(key)
    if base == ("var", "node") and "node" not in scope.variables and _is_text(key):
        scope.found.nodes.add(key[1])
        containers = _caller_variable("node")
    else:
        containers = scope.compile(base)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for _, at in keys(env, None, value):
            for where, container in containers(env, path, value):
                env.meter.spend(1)
                yield extend(where, at, container), index(env.meter, container, at)

    return run


def _is_text(tree: Tree) -> bool:
    return tree[0] == "const" and isinstance(tree[1], str)


def _slice(tree: Tree, scope: NameScope) -> Filter:
    _, base, start, end = tree
    containers = scope.compile(base)
    starts = scope.compile(start or ("const", None))
    ends = scope.compile(end or ("const", None))

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for _, last in ends(env, None, value):
            for _, first in starts(env, None, value):
                key = {"start": first, "end": last}
                for where, container in containers(env, path, value):
                    env.meter.spend(1)
                    yield extend(where, key, container), cut(env.meter, container, first, last)

    return run


def _iterate(tree: Tree, scope: NameScope) -> Filter:
    containers = scope.compile(tree[1])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        meter = env.meter
        for where, container in containers(env, path, value):
            if where is None:
                for item in items_of(container):
                    meter.spend(1)
                    yield None, item
                continue
            for key, item in entries(container):
                meter.spend(1)
                yield extend(where, key, container), item

    return run


def entries(container: Any) -> Iterator[tuple[Any, Any]]:
    """Return the keys and values of an array or object."""
    if isinstance(container, list):
        return iter(enumerate(container))
    if isinstance(container, dict):
        return iter(container.items())
    raise jq_error(f"Cannot iterate over {describe(container)}")


def _pipe(tree: Tree, scope: NameScope) -> Filter:
    first, second = scope.compile(tree[1]), scope.compile(tree[2])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for where, middle in first(env, path, value):
            yield from second(env, where, middle)

    return run


def _comma(tree: Tree, scope: NameScope) -> Filter:
    first, second = scope.compile(tree[1]), scope.compile(tree[2])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        env.meter.spend(1)
        yield from first(env, path, value)
        yield from second(env, path, value)

    return run


def _variable(tree: Tree, scope: NameScope) -> Filter:
    name = tree[1]
    key = scope.variables.get(name)
    if key is not None:
        return lambda env, path, value: iter(((computed_path(path), env.values[key]),))
    if name == "ENV":
        return constant({})
    if name == "__prog_args":
        raise ExpressionError("$__prog_args is not available", code="EXPRESSION_SYNTAX")
    if name == "node":
        scope.found.all_nodes = True
    else:
        scope.found.names.add(name)
    return _caller_variable(name)


def _caller_variable(name: str) -> Filter:
    return lambda env, path, value: iter(((computed_path(path), env.values.get(name)),))


NAVIGATION: dict[str, Compiler] = {
    "comma": _comma,
    "field": _field,
    "identity": _identity,
    "index": _index,
    "iterate": _iterate,
    "pipe": _pipe,
    "slice": _slice,
    "var": _variable,
}
