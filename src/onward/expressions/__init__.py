"""Expressions: text and data in, data out. One language, jq, evaluated within counted limits.

`compile_jq` reads a bare expression, `compile_template` a parameter of any shape with `$references`
and `{{ jq }}` inside its strings. Both are read once, when a workflow is compiled; evaluating them
never reads data as code. Nothing here knows workflows: the package imports `errors` and itself, and
does no IO. Read it in this order:

    template, jq, reference     what callers use: parameters, expressions, plain paths
    limits, meter, sizes        what one evaluation may cost: steps, bytes, depth
    compiler, scope, stream     from text to filters; names, and the values that flow with paths
    purejq                      the only door to the library that parses jq
    navigation, construction, control, binding, update, calls
                                one function for each kind of node of the syntax tree
    builtins, native, operations, loops, dates, maths, regex, prelude
                                jq's functions: in Python, and (`prelude`) in jq itself
    time_slice, offload         long evaluations leave the event loop for another process
"""

from onward.expressions.jq import Jq, compile_jq
from onward.expressions.limits import DEFAULT_LIMITS, Limits
from onward.expressions.sizes import Account
from onward.expressions.template import Template, compile_template, find_errors

__all__ = [
    "DEFAULT_LIMITS",
    "Account",
    "Jq",
    "Limits",
    "Template",
    "compile_jq",
    "compile_template",
    "find_errors",
]
