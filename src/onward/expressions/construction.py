"""Filters that make values: literals, operators, arrays, objects and texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.meter import Collection
from onward.expressions.navigation import constant
from onward.expressions.operations import OPERATORS, charge, is_number, number
from onward.expressions.purejq import Tree, apply_format, describe, jq_error, type_name
from onward.expressions.scope import Compiler, NameScope
from onward.expressions.stream import Env, Filter, Flow, Path, computed_path

_FORMATS = ("text", "json", "html", "uri", "urid", "csv", "tsv", "sh", "base64", "base64d")


def _operator(tree: Tree, scope: NameScope) -> Filter:
    _, symbol, left, right = tree
    operate = OPERATORS[symbol]
    lefts, rights = scope.compile(left), scope.compile(right)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        meter, where = env.meter, computed_path(path)
        for _, second in rights(env, None, value):
            for _, first in lefts(env, None, value):
                yield where, operate(meter, first, second)

    return run


def _negation(tree: Tree, scope: NameScope) -> Filter:
    operands = scope.compile(tree[1])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for _, operand in operands(env, None, value):
            if not is_number(operand):
                raise jq_error(f"{describe(operand)} cannot be negated")
            yield computed_path(path), number(-operand)

    return run


def _array(tree: Tree, scope: NameScope) -> Filter:
    items = scope.compile(tree[1])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        collection = Collection(env.meter)
        for _, item in items(env, None, value):
            collection.append(item)
        yield computed_path(path), collection.finish()

    return run


def _object(tree: Tree, scope: NameScope) -> Filter:
    pairs = [(scope.compile(key), scope.compile(item)) for key, item in tree[1]]

    def build(env: Env, value: Any, made: dict[str, Any], done: int) -> Iterator[dict[str, Any]]:
        if done == len(pairs):
            yield made
            return
        keys, items = pairs[done]
        for _, key in keys(env, None, value):
            if not isinstance(key, str):
                raise jq_error(f"Object keys must be strings, not {type_name(key)}")
            for _, item in items(env, None, value):
                env.meter.spend(1)
                yield from build(env, value, {**made, key: item}, done + 1)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for made in build(env, value, {}, 0):
            yield computed_path(path), env.meter.admit(made)

    return run


def _text(tree: Tree, scope: NameScope) -> Filter:
    r"""`"a\(x)b"`, and `@json "a\(x)b"`, which formats each value that is put in."""
    _, given, parts = tree
    form = _known_format(given or "text")
    pieces = [part if isinstance(part, str) else scope.compile(part) for part in parts]

    def build(env: Env, value: Any, tail: str, left: int) -> Iterator[str]:
        """Put the pieces together from the last to the first: the last turns slowest."""
        if left == 0:
            yield tail
            return
        piece = pieces[left - 1]
        if isinstance(piece, str):
            yield from build(env, value, piece + tail, left - 1)
            return
        for _, item in piece(env, None, value):
            text = charge(env.meter, apply_format, form, item)
            env.meter.announce(len(text) + len(tail))
            env.meter.spend(1 + (len(text) + len(tail) >> 6))
            yield from build(env, value, text + tail, left - 1)

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        for text in build(env, value, "", len(pieces)):
            yield computed_path(path), env.meter.admit(text)

    return run


def _format(tree: Tree, scope: NameScope) -> Filter:
    form = _known_format(tree[1])

    def run(env: Env, path: Path, value: Any) -> Iterator[Flow]:
        yield computed_path(path), env.meter.admit(charge(env.meter, apply_format, form, value))

    return run


def _known_format(name: str) -> str:
    if name in _FORMATS:
        return name
    known = ", ".join(f"@{form}" for form in _FORMATS)
    raise ExpressionError(f"@{name} is not a format; use one of {known}", code="EXPRESSION_SYNTAX")


def _location(env: Env, path: Path, value: Any) -> Iterator[Flow]:
    """`$__loc__`: a new value every time, so that weighing it costs the same every time."""
    yield computed_path(path), {"file": "<top-level>", "line": 1}


CONSTRUCTION: dict[str, Compiler] = {
    "binop": _operator,
    "collect": _array,
    "const": lambda tree, scope: constant(tree[1]),
    "emptyarray": lambda tree, scope: constant([]),
    "format": _format,
    "loc": lambda tree, scope: _location,
    "neg": _negation,
    "object": _object,
    "str": _text,
}
