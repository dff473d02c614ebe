"""Functions: defining them, calling them, and how deep they may call each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from onward.errors import ExpressionError
from onward.expressions.purejq import Tree
from onward.expressions.scope import (
    Compiler,
    FilterParameter,
    Function,
    FunctionName,
    JqFunction,
    NameScope,
    NativeFunction,
    ValueParameter,
)
from onward.expressions.stream import Argument, Env, Filter, Flow, Key, Path, computed_path

# -- Which expressions never yield more than one value.
#
# Loops use it: an update that yields once leaves nothing to come back to, so `until` and its kin
# need no stack however often they turn.


_ALWAYS = frozenset({"break", "collect", "const", "emptyarray", "format", "identity", "loc", "var"})
_WHEN_PARTS_DO = frozenset(
    {"alt", "and", "binop", "field", "if", "index", "neg"}
    | {"object", "opt", "or", "pipe", "slice", "str", "try"}
)


def yields_once(tree: Tree, scope: NameScope) -> bool:
    """Return True only if `tree` can never yield a second value for one input."""
    tag = tree[0]
    if tag in _ALWAYS:
        return True
    if tag == "call":
        _, name, arguments = tree
        function = scope.functions.get((name, len(arguments)))
        known = isinstance(function, ValueParameter) or (
            isinstance(function, NativeFunction) and function.once
        )
        return known and all(yields_once(argument, scope) for argument in arguments)
    return tag in _WHEN_PARTS_DO and _parts_yield_once(tree[1:], scope)


def _parts_yield_once(parts: Any, scope: NameScope) -> bool:
    if isinstance(parts, tuple) and parts and isinstance(parts[0], str) and parts[0] in _TAGS:
        return yields_once(parts, scope)
    if isinstance(parts, tuple | list):
        return all(_parts_yield_once(part, scope) for part in parts)
    return True


_TAGS = _ALWAYS | _WHEN_PARTS_DO | {
    "as", "assign", "call", "comma", "foreach", "funcdef", "iterate", "label", "reduce",
}  # fmt: skip


_UNAVAILABLE = frozenset(
    {
        "debug",
        "get_search_list",
        "halt",
        "halt_error",
        "input",
        "input_filename",
        "input_line_number",
        "inputs",
        "modulemeta",
        "stderr",
    }
)


def _definition(tree: Tree, scope: NameScope) -> Filter:
    _, name, parameters, body, rest = tree
    return define(name, parameters, body, scope).compile(rest)


def define(name: str, parameters: Sequence[str], body: Tree, scope: NameScope) -> NameScope:
    """Return `scope` with the function in it, its body compiled."""
    inner = scope.with_variables([plain[1:] for plain in parameters if plain.startswith("$")])
    signature: list[tuple[bool, Key]] = []
    callable_inside: dict[FunctionName, Function] = {}
    for parameter in parameters:
        by_value = parameter.startswith("$")
        plain = parameter.removeprefix("$")
        key = inner.variables[plain] if by_value else next(scope.keys)
        signature.append((by_value, key))
        callable_inside[plain, 0] = ValueParameter(key) if by_value else FilterParameter(key)
    definition = JqFunction(tuple(signature), levels=2 + levels_of(body))
    itself: dict[FunctionName, Function] = {(name, len(parameters)): definition}
    definition.body = inner.with_functions({**itself, **callable_inside}).compile(body)
    return scope.with_functions(itself)


def levels_of(tree: Any) -> int:
    """Return how many Python frames `tree` can pile up when it runs, not counting calls."""
    match tree:
        case ("call", _, arguments):
            own = 3 + len(arguments)
        case ("as" | "foreach" | "reduce", *_):
            own = 3
        case ("if", branches, _):
            own = len(branches)
        case ("object", pairs):
            own = 1 + len(pairs)
        case ("str", _, parts):
            own = 1 + len(parts)
        case tuple():
            own = 1
        case list():
            own = 0
        case _:
            return 0
    return own + max(map(levels_of, tree), default=0)


def _call(tree: Tree, scope: NameScope) -> Filter:
    _, name, trees = tree
    function = scope.functions.get((name, len(trees)))
    if function is None:
        message = _no_function(name, len(trees), scope)
        raise ExpressionError(message, code="EXPRESSION_SYNTAX")
    parts = [(scope.compile(part), yields_once(part, scope)) for part in trees]
    match function:
        case NativeFunction(native):
            return lambda env, path, value: native(
                env, path, value, *[Argument(run, env, once) for run, once in parts]
            )
        case JqFunction():
            return lambda env, path, value: _run(
                function, [Argument(run, env, once) for run, once in parts], env, path, value
            )
        case FilterParameter(key):
            return lambda env, path, value: env.values[key].flows(path, value)
        case ValueParameter(key):
            return lambda env, path, value: iter(((computed_path(path), env.values[key]),))
        case _:
            assert_never(function)


def _no_function(name: str, arity: int, scope: NameScope) -> str:
    if name in _UNAVAILABLE:
        return f"{name} is not available: an expression sees only its input and variables"
    others = sorted(count for known, count in scope.functions if known == name)
    if others:
        takes = " or ".join(str(count) for count in others)
        return f"{name} takes {takes} argument(s), separated by ; and not {arity}"
    return f"there is no function {name}; a text needs quotes, a variable a $"


def _run(
    definition: JqFunction, arguments: Sequence[Argument], env: Env, path: Path, value: Any
) -> Iterator[Flow]:
    """Run a jq function: once for each combination of its `$value` arguments."""
    given = list(zip(definition.parameters, arguments, strict=True))
    filters = {key: argument for (by_value, key), argument in given if not by_value}
    values = [(key, argument) for (by_value, key), argument in given if by_value]
    for bound in _combinations(values, value):
        env.meter.spend(4)
        yield from _enter(definition, env.bind_all({**filters, **bound}), path, value)


def _combinations(values: Sequence[tuple[Key, Argument]], value: Any) -> Iterator[dict[Key, Any]]:
    if not values:
        yield {}
        return
    (key, argument), *rest = values
    for first in argument.vals(value):
        for others in _combinations(rest, value):
            yield {key: first, **others}


def _enter(definition: JqFunction, env: Env, path: Path, value: Any) -> Iterator[Flow]:
    """Run the body, counting its depth only while it is running and not while it is paused."""
    assert definition.body is not None  # noqa: S101  (set before anything can call it)
    meter = env.meter
    outside = meter.descend(definition.levels)
    try:
        for flow in definition.body(env, path, value):
            meter.depth = outside
            meter.spend(1)
            yield flow
            outside = meter.descend(definition.levels)
    except GeneratorExit:
        # Dropped while paused: the depth belongs to the filter that runs now.
        raise
    except BaseException:
        meter.depth = outside
        raise
    meter.depth = outside


CALLS: dict[str, Compiler] = {"call": _call, "funcdef": _definition}
