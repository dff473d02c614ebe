"""From text to filter.

purejq reads the text; every kind of node in its syntax tree has a function that compiles it. Loops,
calls and whatever makes a value report to the meter, so nothing runs or grows unseen.
"""

from __future__ import annotations

import functools

from weft.expressions.binding import BINDING
from weft.expressions.builtins import NATIVE
from weft.expressions.calls import CALLS, define, levels_of
from weft.expressions.construction import CONSTRUCTION
from weft.expressions.control import CONTROL
from weft.expressions.definitions import DEFINITIONS
from weft.expressions.flow import Filter
from weft.expressions.library import parse
from weft.expressions.navigation import NAVIGATION
from weft.expressions.scope import Found, Scope
from weft.expressions.update import UPDATE

_COMPILERS = {**BINDING, **CALLS, **CONSTRUCTION, **CONTROL, **NAVIGATION, **UPDATE}


def compile_text(text: str, found: Found) -> tuple[Filter, int]:
    """Return the filter that `text` describes and its levels (see `Meter.descend`).

    What it asks of its caller is added to `found`. Raises JqParseError for what is not jq,
    ExpressionError for names that do not exist.
    """
    standard = _standard()
    tree = parse(text)
    run = Scope(standard.compilers, standard.functions, found).compile(tree)
    return run, levels_of(tree)


@functools.cache
def _standard() -> Scope:
    """Return the scope that holds every builtin: those in Python, and those defined in jq."""
    scope = Scope(_COMPILERS, NATIVE)
    tree = parse(DEFINITIONS)
    while tree[0] == "funcdef":
        _, name, parameters, body, tree = tree
        scope = define(name, parameters, body, scope)
    return scope
