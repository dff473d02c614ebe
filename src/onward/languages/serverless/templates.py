"""Values with expressions in them: `${ jq }` strings, inside any JSON value.

Everything is compiled when a document is read. What an expression yields is data and stays data:
text that looks like an expression is never read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from onward.errors import ExpressionError
from onward.expressions import Account, Jq, Limits
from onward.languages.document.problems import join

LIMITS = Limits(bytes=64 * 1024 * 1024, depth=400)
"""A loop over a million numbers is a value of some 24 MB. What an expression yields is put into
documents that nest up to 100 levels themselves, and messages carry 500."""

WORK = 100_000
"""After so many steps of evaluation a message does not enter another task."""

_WHOLE = re.compile(r"\s*\$\{(.+)\}\s*", re.DOTALL)


def new_account() -> Account:
    """Return the account of one message: whatever it did before, one task has all of LIMITS."""
    return Account(LIMITS.steps + WORK)


@dataclass(frozen=True, slots=True)
class EvaluationInput:
    """What an evaluation works on: jq's `.`, its variables, and what it takes for now."""

    data: Any
    variables: Mapping[str, Any]
    now_ms: int
    account: Account = field(default_factory=new_account)


class ComputedText(Protocol):
    """A text whose value is computed."""

    @property
    def names(self) -> frozenset[str]:
        """The variables it asks for."""
        ...

    def evaluate(self, inputs: EvaluationInput) -> Any:
        """Return its value; raises ExpressionError."""
        ...


class Expression:
    """One compiled expression. `loose`: where it fails, its own text is its value."""

    __slots__ = ("jq", "loose", "text")

    def __init__(self, jq: Jq, text: str = "", *, loose: bool = False) -> None:
        self.jq = jq
        self.text = text
        self.loose = loose

    @property
    def names(self) -> frozenset[str]:
        """The variables it asks for."""
        return self.jq.names

    def evaluate(self, inputs: EvaluationInput) -> Any:
        """Return its value: null for none, an array for several. Raises ExpressionError."""
        try:
            values = self.jq.evaluate_all(
                inputs.data,
                inputs.variables,
                now_ms=inputs.now_ms,
                limits=LIMITS,
                account=inputs.account,
            )
        except ExpressionError:
            if self.loose:
                return self.text
            raise
        return values[0] if len(values) == 1 else (values or None)

    def holds(self, inputs: EvaluationInput) -> bool:
        """Return jq's truth of its value: everything but null and false."""
        value = self.evaluate(inputs)
        return value is not None and value is not False


Render = Callable[[EvaluationInput], Any]
CompileText = Callable[[str, str], "ComputedText | str"]
"""From a text and its pointer to what computes it, or to the text itself."""


class JsonTemplate:
    """A JSON value whose strings may be expressions; `names` are the variables it asks for."""

    __slots__ = ("names", "render", "static")

    def __init__(self, value: Any, compile_text: CompileText) -> None:
        names: set[str] = set()
        self.render: Render = _compile(value, "", compile_text, names)
        self.names = frozenset(names - {""})
        self.static = not names
        """Whether it holds no expression at all."""


def expression_in(text: str) -> str | None:
    """Return the jq of a string that is one expression, `${ ... }` from end to end; else None."""
    found = _WHOLE.fullmatch(text)
    return found[1].strip() if found else None


def _compile(value: Any, at: str, compile_text: CompileText, names: set[str]) -> Render:
    match value:
        case str():
            compiled = compile_text(value, at)
            if isinstance(compiled, str):
                return lambda inputs: compiled
            names |= {"", *compiled.names}
            return compiled.evaluate
        case list():
            items = [
                _compile(item, join(at, index), compile_text, names)
                for index, item in enumerate(value)
            ]
            return lambda inputs: [item(inputs) for item in items]
        case dict():
            fields = [
                (key, _compile(part, join(at, key), compile_text, names))
                for key, part in value.items()
            ]
            return lambda inputs: {key: part(inputs) for key, part in fields}
        case _:
            return lambda inputs: value
