"""Filters that decide: conditions, alternatives, errors and early ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.purejq import JqBreak, JqError, Tree, jq_break
from onward.expressions.scope import Compiler, NameScope
from onward.expressions.stream import Env, Filter, Flow, Path, computed_path, is_truthy

CAUGHT = 20
"""The steps that an error takes: its words quote the value it is about."""


def _if(tree: Tree, scope: NameScope) -> Filter:
    _, branches, otherwise = tree
    chosen = scope.compile(otherwise or ("identity",))
    for condition, then in reversed(branches):
        chosen = _choice(scope.compile(condition), scope.compile(then), chosen)
    return chosen


def _choice(conditions: Filter, then: Filter, otherwise: Filter) -> Filter:
    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for _, condition in conditions(env, None, value):
            yield from (then if is_truthy(condition) else otherwise)(env, path, value)

    return run


def _logic(tree: Tree, scope: NameScope) -> Filter:
    """`and` and `or`: the second side is only looked at when the first does not decide."""
    deciding = tree[0] == "or"
    lefts, rights = scope.compile(tree[1]), scope.compile(tree[2])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        where = computed_path(path)
        for _, first in lefts(env, None, value):
            if is_truthy(first) is deciding:
                yield where, deciding
                continue
            for _, second in rights(env, None, value):
                yield where, is_truthy(second)

    return run


def _alternative(tree: Tree, scope: NameScope) -> Filter:
    """`a // b`: all that is true of `a`, or `b` when there is none; errors of `a` count as none."""
    first, second = scope.compile(tree[1]), scope.compile(tree[2])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        found = False
        for flow in _until_error(first, env, path, value):
            if is_truthy(flow[1]):
                found = True
                yield flow
        if not found:
            yield from second(env, path, value)

    return run


def _until_error(body: Filter, env: Env, path: Path, value: Any) -> Iterator[Flow]:
    """Yield what `body` does and end quietly where it fails."""
    try:
        yield from body(env, path, value)
    except JqError:
        env.meter.spend(CAUGHT)
        return


def _optional(tree: Tree, scope: NameScope) -> Filter:
    """`a.b?`: the mark is about the last step only, and what fails before it fails."""
    step = tree[1]
    if step[0] not in _STEPS or step[1] in _WHOLE or any(map(_varies, step[2:])):
        return _guarded(tree, scope)
    return scope.compile(("pipe", step[1], ("opt", (step[0], ("identity",), *step[2:]))))


_STEPS = frozenset({"field", "index", "iterate", "slice"})
_WHOLE = (("identity",), ("var", "node"))


def _varies(part: Any) -> bool:
    """Return whether a part of a step depends on what the whole expression works on."""
    return isinstance(part, tuple) and part[0] != "const"


def _guarded(tree: Tree, scope: NameScope) -> Filter:
    body = scope.compile(tree[1])
    return lambda env, path, value: _until_error(body, env, path, value)


def _try(tree: Tree, scope: NameScope) -> Filter:
    _, body, handler = tree
    if handler is None:
        return _guarded(tree, scope)
    attempt, rescue = scope.compile(body), scope.compile(handler)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        try:
            yield from attempt(env, path, value)
        except JqError as error:
            env.meter.spend(CAUGHT)
            reason = error.value
        else:
            return
        yield from rescue(env, computed_path(path), reason)

    return run


def _label(tree: Tree, scope: NameScope) -> Filter:
    _, name, body = tree
    inner = scope.with_label(name)
    key = inner.labels[name]
    labelled = inner.compile(body)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        here = object()
        try:
            yield from labelled(env.bind(key, here), path, value)
        except JqBreak as leaving:
            if leaving.token is not here:
                raise

    return run


def _break(tree: Tree, scope: NameScope) -> Filter:
    name = tree[1]
    key = scope.labels.get(name)
    if key is None:
        raise ExpressionError(
            f"break ${name} has no `label ${name}` around it", code="EXPRESSION_SYNTAX"
        )

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        raise jq_break(env.values[key])

    return run


CONTROL: dict[str, Compiler] = {
    "alt": _alternative,
    "and": _logic,
    "break": _break,
    "if": _if,
    "label": _label,
    "opt": _optional,
    "or": _logic,
    "try": _try,
}
