"""Filters that bind variables: `as`, `reduce` and `foreach`, and the patterns they take apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from onward.expressions.control import CAUGHT
from onward.expressions.purejq import JqError, Tree, jq_error, type_name
from onward.expressions.scope import Compiler, NameScope
from onward.expressions.stream import Env, Filter, Flow, Key, Path, computed_path

Matcher = Callable[[Env, Any], Iterator[Env]]
"""Takes a value apart: yields the environment with its parts bound, once per way to do it."""


def _binding(tree: Tree, scope: NameScope) -> Filter:
    """`source as pattern ?// pattern | body`."""
    _, source, patterns, body = tree
    names = _names(patterns)
    inner = scope.with_variables(names)
    unbound: dict[Key, Any] = {inner.variables[name]: None for name in names}
    sources = scope.compile(source)
    matchers = [_matcher(pattern, inner) for pattern in patterns]
    *tried, last = matchers
    bodies = inner.compile(body)

    def use(matcher: Matcher, env: Env, item: Any, path: Path, value: Any) -> Iterator[Flow]:
        for bound in matcher(env, item):
            yield from bodies(bound, path, value)

    def alternatives(env: Env, item: Any, path: Path, value: Any) -> Iterator[Flow]:
        # A pattern that does not fit, or a body that fails with it, gives way to the next one.
        for matcher in tried:
            try:
                yield from use(matcher, env, item, path, value)
            except JqError:
                env.meter.spend(CAUGHT)
                continue
            return
        yield from use(last, env, item, path, value)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        empty = env.bind_all(unbound) if tried else env
        for _, item in sources(env, None, value):
            env.meter.spend(2)
            yield from alternatives(empty, item, path, value)

    return run


def _reduce(tree: Tree, scope: NameScope) -> Filter:
    """`reduce source as pattern (init; update)`: an update that yields nothing leaves null."""
    _, source, patterns, init, update = tree
    sources, inits = scope.compile(source), scope.compile(init)
    match, inner = _alternatives(patterns, scope)
    updates = inner.compile(update)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for start in inits(env, path, value):
            state = start
            for _, item in sources(env, None, value):
                for bound in match(env, item):
                    env.meter.spend(2)
                    state = _last(updates(bound, *state), (computed_path(path), None))
            yield state

    return run


def _last(flows: Iterator[Flow], otherwise: Flow) -> Flow:
    """Return the last of `flows`, or `otherwise` when there is none."""
    last = otherwise
    for flow in flows:
        last = flow
    return last


def _foreach(tree: Tree, scope: NameScope) -> Filter:
    """`foreach source as pattern (init; update; extract)`."""
    _, source, patterns, init, update, extract = tree
    sources, inits = scope.compile(source), scope.compile(init)
    match, inner = _alternatives(patterns, scope)
    updates = inner.compile(update)
    extracts = inner.compile(extract or ("identity",))

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for start in inits(env, path, value):
            state = start
            for _, item in sources(env, None, value):
                for bound in match(env, item):
                    env.meter.spend(2)
                    for new in updates(bound, *state):
                        state = new
                        yield from extracts(bound, *state)

    return run


def _alternatives(patterns: Sequence[Tree], scope: NameScope) -> tuple[Matcher, NameScope]:
    """Return a matcher that takes the first pattern that fits, and the scope it leads to."""
    names = _names(patterns)
    inner = scope.with_variables(names)
    unbound: dict[Key, Any] = {inner.variables[name]: None for name in names}
    *tried, last = [_matcher(pattern, inner) for pattern in patterns]
    if not tried:
        return last, inner

    def match(env: Env, item: Any) -> Iterator[Env]:
        empty = env.bind_all(unbound)
        for matcher in tried:
            try:
                found = list(matcher(empty, item))
            except JqError:
                env.meter.spend(CAUGHT)
                continue
            return iter(found)
        return last(empty, item)

    return match, inner


def _names(patterns: Sequence[Tree]) -> list[str]:
    """Return every variable that one of `patterns` binds."""
    names: dict[str, None] = {}
    for pattern in patterns:
        match pattern:
            case ("pvar", name):
                names[name] = None
            case ("parray", items):
                names.update(dict.fromkeys(_names(items)))
            case (_, fields):
                for _, inner, name in fields:
                    if name is not None:
                        names[name] = None
                    names.update(dict.fromkeys(_names([inner])))
    return list(names)


def _matcher(pattern: Tree, scope: NameScope) -> Matcher:
    match pattern:
        case ("pvar", name):
            key = scope.variables[name]
            return lambda env, value: iter((env.bind(key, value),))
        case ("parray", items):
            return _array([_matcher(item, scope) for item in items])
        case (_, fields):
            return _fields(
                [
                    _FieldPattern(
                        scope.compile(key),
                        _matcher(inner, scope),
                        None if name is None else scope.variables[name],
                    )
                    for key, inner, name in fields
                ]
            )
        case _:
            raise AssertionError(pattern)


def _array(matchers: Sequence[Matcher]) -> Matcher:
    def match(env: Env, value: Any, at: int = 0) -> Iterator[Env]:
        if value is not None and not isinstance(value, list):
            raise jq_error(f"Cannot index {type_name(value)} with number")
        if at == len(matchers):
            yield env
            return
        item = value[at] if value is not None and at < len(value) else None
        for bound in matchers[at](env, item):
            yield from match(bound, value, at + 1)

    return match


class _FieldPattern(NamedTuple):
    """One field of an object pattern; `also` is the variable bound to the whole field."""

    keys: Filter
    matcher: Matcher
    also: Key | None


def _fields(fields: Sequence[_FieldPattern]) -> Matcher:
    def match(env: Env, value: Any, at: int = 0) -> Iterator[Env]:
        if at == len(fields):
            yield env
            return
        keys, matcher, also = fields[at]
        for _, key in keys(env, None, value):
            if not isinstance(key, str):
                raise jq_error(f"Cannot index object with {type_name(key)}")
            if value is not None and not isinstance(value, dict):
                raise jq_error(f'Cannot index {type_name(value)} with "{key}"')
            env.meter.spend(1)
            item = None if value is None else value.get(key)
            whole = env if also is None else env.bind(also, item)
            for bound in matcher(whole, item):
                yield from match(bound, value, at + 1)

    return match


BINDING: dict[str, Compiler] = {"as": _binding, "foreach": _foreach, "reduce": _reduce}
