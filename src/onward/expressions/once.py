"""Which expressions never yield more than one value.

Loops use it: an update that yields once leaves nothing to come back to, so `until` and its kin need
no stack however often they turn.
"""

from __future__ import annotations

from typing import Any

from onward.expressions.library import Tree
from onward.expressions.scope import Bound, NativeFunction, Scope

_ALWAYS = frozenset({"break", "collect", "const", "emptyarray", "format", "identity", "loc", "var"})
_WHEN_PARTS_DO = frozenset(
    {"alt", "and", "binop", "field", "if", "index", "neg"}
    | {"object", "opt", "or", "pipe", "slice", "str", "try"}
)


def yields_once(tree: Tree, scope: Scope) -> bool:
    """Return True only if `tree` can never yield a second value for one input."""
    tag = tree[0]
    if tag in _ALWAYS:
        return True
    if tag == "call":
        _, name, arguments = tree
        function = scope.functions.get((name, len(arguments)))
        known = isinstance(function, Bound) or (
            isinstance(function, NativeFunction) and function.once
        )
        return known and all(yields_once(argument, scope) for argument in arguments)
    return tag in _WHEN_PARTS_DO and _parts_yield_once(tree[1:], scope)


def _parts_yield_once(parts: Any, scope: Scope) -> bool:
    if isinstance(parts, tuple) and parts and isinstance(parts[0], str) and parts[0] in _TAGS:
        return yields_once(parts, scope)
    if isinstance(parts, tuple | list):
        return all(_parts_yield_once(part, scope) for part in parts)
    return True


_TAGS = _ALWAYS | _WHEN_PARTS_DO | {
    "as", "assign", "call", "comma", "foreach", "funcdef", "iterate", "label", "reduce",
}  # fmt: skip
