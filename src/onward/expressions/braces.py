r"""Where an expression in braces ends.

`{{ {"a": {"b": "}}"}} }}` holds braces of its own: they belong to jq's objects, its strings, and
the interpolations `\( ... )` in those strings. Only the pair that closes the opening one counts.
"""

from __future__ import annotations

from onward.errors import ExpressionError


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
    """Take one character of a jq string and return where to go on."""
    if text.startswith("\\(", at):
        nested.append("(")
        return at + 2
    if text[at] == '"':
        nested.pop()
    return at + (2 if text[at] == "\\" else 1)


def _end_of_comment(text: str, at: int) -> int:
    """Return the end of the comment at `at`: its line's end, or the braces that close it all."""
    ends = [place for place in (text.find("\n", at), text.find("}}", at)) if place >= 0]
    return min(ends, default=len(text))
