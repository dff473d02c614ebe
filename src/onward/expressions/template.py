"""Parameters that hold expressions.

A template is any JSON value. In its strings, wherever they stand, `$name.path[0]` and `{{ jq }}`
are expressions: a string that is one expression becomes that expression's value with its type, and
in longer text the value is written out. Keys of objects are never templates. `$$` writes a `$`.

Everything is read when the template is compiled. What an expression yields is a value and stays
one: text that looks like an expression, inside data, is never read again.

Read `Template` and `compile_template` first; the reader of one value follows, then the split of a
text into literals and expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.jq import Jq, compile_jq
from onward.expressions.limits import DEFAULT_LIMITS, Limits
from onward.expressions.purejq import encode
from onward.expressions.reference import REFERENCE_PATTERN
from onward.expressions.sizes import Account


@dataclass(frozen=True, slots=True)
class _Rendering:
    """The inputs of one rendering."""

    data: Any
    variables: Mapping[str, Any]
    now_ms: int
    limits: Limits
    account: Account

    def evaluate(self, jq: Jq) -> Any:
        return jq.evaluate(
            self.data,
            self.variables,
            now_ms=self.now_ms,
            limits=self.limits,
            account=self.account,
        )


Render = Callable[[_Rendering], Any]


class Template:
    """A compiled parameter value; immutable.

    `static`: it holds no expression. `names`, `nodes` and `all_nodes` are those of all its
    expressions together (see `Jq`).
    """

    __slots__ = ("_render", "all_nodes", "names", "nodes", "static")

    def __init__(self, render: Render, expressions: list[Jq]) -> None:
        self._render = render
        self.static = not expressions
        self.names = frozenset(name for jq in expressions for name in jq.names)
        self.nodes = frozenset(node for jq in expressions for node in jq.nodes)
        self.all_nodes = any(jq.all_nodes for jq in expressions)

    def render(
        self,
        input: Any,  # noqa: A002  (what jq calls it)
        variables: Mapping[str, Any],
        *,
        now_ms: int = 0,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Any:
        """Return the value with every expression evaluated: all together within `limits.steps`.

        Raises ExpressionError whose `pointer` names the string that failed. No input is changed;
        literal parts and referenced data are returned as they are, not copied.
        """
        return self._render(_Rendering(input, variables, now_ms, limits, Account(limits.steps)))


def compile_template(value: Any) -> Template:
    """Read `value`; raises its first ExpressionError (EXPRESSION_SYNTAX), with its pointer."""
    reader = _read(value)
    if reader.errors:
        raise reader.errors[0]
    return Template(reader.render, reader.expressions)


def find_errors(value: Any) -> list[ExpressionError]:
    """Return every syntax error in `value`, each with its pointer, in document order."""
    return _read(value).errors


def _read(value: Any) -> _Reader:
    reader = _Reader()
    try:
        reader.render = reader.read(value, "")
    except RecursionError:
        error = ExpressionError(
            "the value nests too deeply to be read; flatten it", code="EXPRESSION_LIMIT"
        )
        reader.errors.append(error)
    return reader


class _Reader:
    """The reader of one value, with the expressions and the errors in it."""

    def __init__(self) -> None:
        self.render: Render = _constant(None)
        self.expressions: list[Jq] = []
        self.errors: list[ExpressionError] = []

    def read(self, value: Any, pointer: str) -> Render:
        """Return how to render `value`, which stands at `pointer`."""
        match value:
            case str() if "$" in value or "{{" in value:
                return self._read_text(value, pointer)
            case list():
                items = [self.read(item, f"{pointer}/{at}") for at, item in enumerate(value)]
                return lambda rendering: [item(rendering) for item in items]
            case dict():
                fields = [
                    (key, self.read(item, f"{pointer}/{_escape(str(key))}"))
                    for key, item in value.items()
                ]
                return lambda rendering: {key: item(rendering) for key, item in fields}
            case _:
                return _constant(value)

    def _read_text(self, text: str, pointer: str) -> Render:
        try:
            parts = list(_merge(_split(text)))
        except ExpressionError as error:
            self.errors.append(ExpressionError(str(error), code=error.code, pointer=pointer))
            return _constant(text)
        found = [part for part in parts if isinstance(part, Jq)]
        self.expressions += found
        if not found:
            return _constant("".join(part for part in parts if isinstance(part, str)))
        if len(found) == 1 and (len(parts) == 1 or _is_braced(text, parts)):
            return _pointing(pointer, lambda rendering: rendering.evaluate(found[0]))
        return _pointing(pointer, lambda rendering: _write(parts, rendering))


def _constant(value: Any) -> Render:
    return lambda rendering: value


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _is_braced(text: str, parts: list[str | Jq]) -> bool:
    """Return whether `text` is one `{{ }}` with nothing but white space around it."""
    blank = all(isinstance(part, Jq) or not part.strip() for part in parts)
    return blank and text.lstrip().startswith("{{")


def _pointing(pointer: str, render: Render) -> Render:
    """Return `render` with the pointer in its errors."""

    def run(rendering: _Rendering) -> Any:
        try:
            return render(rendering)
        except ExpressionError as error:
            raise ExpressionError(str(error), code=error.code, pointer=pointer) from None

    return run


def _write(parts: list[str | Jq], rendering: _Rendering) -> str:
    texts: list[str] = []
    size = 0
    for part in parts:
        text = part if isinstance(part, str) else to_text(rendering.evaluate(part))
        size += len(text)
        if size > rendering.limits.bytes:
            raise ExpressionError(
                f"the text would be longer than {rendering.limits.bytes} characters; "
                "refer to less data",
                code="EXPRESSION_LIMIT",
            )
        texts.append(text)
    return "".join(texts)


def to_text(value: Any) -> str:
    """Return `value` as it is written into text: strings as they are, the rest as compact JSON."""
    if type(value) is str:
        return value
    try:
        return encode(value)
    except (RecursionError, ValueError):
        raise ExpressionError(
            "a value cannot be written as text: it nests too deeply, or a number in it has "
            "thousands of digits",
            code="EXPRESSION_LIMIT",
        ) from None


def _split(text: str) -> Iterator[str | Jq]:
    """Yield the literals and the expressions of `text`, in order."""
    at = 0
    while True:
        starts = [start for start in (text.find("$", at), text.find("{{", at)) if start >= 0]
        if not starts:
            yield text[at:]
            return
        start = min(starts)
        yield text[at:start]
        reference = REFERENCE_PATTERN.match(text, start)
        if text.startswith("{{", start):
            at = find_closing(text, start)
            yield _compile_at(text, start, at)
        elif reference:
            at = reference.end()
            yield _compile_at(text, start, at)
        else:
            yield "$"
            at = start + (2 if text.startswith("$$", start) else 1)


def _compile_at(text: str, start: int, end: int) -> Jq:
    try:
        return compile_jq(text[start:end])
    except ExpressionError as error:
        raise ExpressionError(f"column {start + 1}: {error}", code=error.code) from None


def _merge(parts: Iterator[str | Jq]) -> Iterator[str | Jq]:
    """Join neighbouring literals and drop empty ones."""
    literal = ""
    for part in parts:
        if isinstance(part, str):
            literal += part
            continue
        if literal:
            yield literal
            literal = ""
        yield part
    if literal:
        yield literal


# -- where an expression in braces ends ----------------------------------------------------------
#
# `{{ {"a": {"b": "}}"}} }}` holds braces of its own: they belong to jq's objects, its strings, and
# the interpolations `\( ... )` in those strings. Only the pair that closes the opening one counts.


def find_closing(text: str, start: int) -> int:
    """Return the index just past the `}}` that closes the `{{` at `start`.

    Raises ExpressionError (EXPRESSION_SYNTAX) with the column when there is none.
    """
    at = start + 2
    nested: list[str] = []
    """What is open inside: "{" an object, "(" a bracket, "\"" a string."""
    while at < len(text):
        char = text[at]
        if nested and nested[-1] == '"':
            at = _in_string(text, at, nested)
            continue
        if char == "}" and not nested and text.startswith("}}", at):
            return at + 2
        if char == "#":
            at = _end_of_comment(text, at)
            continue
        if char in '{("':
            nested.append(char)
        elif (char == "}" and nested and nested[-1] == "{") or (
            char == ")" and nested and nested[-1] == "("
        ):
            nested.pop()
        at += 1
    raise ExpressionError(
        f"column {start + 1}: '{{{{' is never closed; end the expression with '}}}}', "
        'or write {{ "{{" }} for the braces themselves',
        code="EXPRESSION_SYNTAX",
    )


def _in_string(text: str, at: int, nested: list[str]) -> int:
    """Read one character of a jq string and return the index of the next."""
    if text.startswith("\\(", at):
        nested.append("(")
        return at + 2
    if text[at] == '"':
        nested.pop()
    return at + (2 if text[at] == "\\" else 1)


def _end_of_comment(text: str, at: int) -> int:
    """Return the end of the comment at `at`: its line's end, or the braces that close it all."""
    ends = [end for end in (text.find("\n", at), text.find("}}", at)) if end >= 0]
    return min(ends, default=len(text))
