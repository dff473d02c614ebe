"""Expressions: text and data in, data out.

One language, jq. `compile_jq` reads a bare expression, `compile_template` a parameter of any shape
with `$references` and `{{ jq }}` inside its strings. Both are read once, when a workflow is
compiled; evaluating them never reads data as code.
"""

from onward.expressions.jq import Jq, compile_jq
from onward.expressions.limits import DEFAULT, Limits
from onward.expressions.sizes import Account
from onward.expressions.template import Template, compile_template, find_errors

__all__ = [
    "DEFAULT",
    "Account",
    "Jq",
    "Limits",
    "Template",
    "compile_jq",
    "compile_template",
    "find_errors",
]
