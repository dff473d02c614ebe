"""From text to filter.

purejq reads the text; every kind of node in its syntax tree has a function that compiles it. Loops,
calls and whatever makes a value report to the meter, so nothing runs or grows unseen.
"""

from __future__ import annotations

import functools

from onward.expressions.binding import BINDING
from onward.expressions.builtins import NATIVE
from onward.expressions.calls import CALLS, define, levels_of
from onward.expressions.construction import CONSTRUCTION
from onward.expressions.control import CONTROL
from onward.expressions.navigation import NAVIGATION
from onward.expressions.prelude import DEFINITIONS
from onward.expressions.purejq import parse
from onward.expressions.scope import NameScope, RequiredNames
from onward.expressions.stream import Filter
from onward.expressions.update import UPDATE

_COMPILERS = {**BINDING, **CALLS, **CONSTRUCTION, **CONTROL, **NAVIGATION, **UPDATE}


def compile_text(text: str, found: RequiredNames) -> tuple[Filter, int]:
    """Return the filter that `text` describes and its levels (see `EvaluationMeter.descend`).

    The names it needs from its caller are added to `found`. Raises JqParseError for what is not jq,
    ExpressionError for names that do not exist.
    """
    standard = _standard()
    tree = parse(text)
    run = NameScope(standard.compilers, standard.functions, found).compile(tree)
    return run, levels_of(tree)


@functools.cache
def _standard() -> NameScope:
    """Return the scope that holds every builtin: those in Python, and those defined in jq."""
    scope = NameScope(_COMPILERS, NATIVE)
    tree = parse(DEFINITIONS)
    while tree[0] == "funcdef":
        _, name, parameters, body, tree = tree
        scope = define(name, parameters, body, scope)
    return scope
