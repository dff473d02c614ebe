"""Parameters against their node type: every field's type, and every expression's syntax.

A value that holds an expression is only known when the node runs, so its type is not judged here;
everything that is written out is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

import msgspec

from onward.errors import ExpressionError
from onward.expressions import Jq, Template, compile_jq, compile_template
from onward.languages.document.problems import Findings, join, quote, suggest
from onward.languages.graph.model import NodeDocument
from onward.ports.nodes.node import NodeType

_MISTYPED = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>.*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<fault>missing required|contains unknown) field `(?P<name>.*)`")
# Their barrier is declared before any token, and so any data, has reached them.
_FIXED = ("merge", "aggregator")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}


@dataclass(frozen=True, slots=True)
class Use:
    """What the expression at `at` asks for."""

    at: str
    names: frozenset[str]
    nodes: frozenset[str]


@dataclass(slots=True)
class _Expressions:
    """The expressions of one node's parameters."""

    uses: list[Use] = field(default_factory=list)
    dynamic: set[str] = field(default_factory=set)
    """The pointers of values that are known only when the node runs."""

    def touch(self, at: str) -> bool:
        """Return whether the value at `at` is, or holds, one that is not known yet."""
        return any(place == at or place.startswith(f"{at}/") for place in self.dynamic)


def check_parameters(
    node: NodeDocument, at: str, kind: NodeType | None, findings: Findings
) -> list[Use]:
    """Report what is wrong with a node's parameters; return what its expressions ask for.

    A node whose type is not known has only its expressions checked.
    """
    expressions = _read_expressions(node, at, kind, findings)
    if kind is not None:
        _check_fields(node, at, kind, expressions, findings)
    return expressions.uses


def _read_expressions(
    node: NodeDocument, at: str, kind: NodeType | None, findings: Findings
) -> _Expressions:
    patterns = () if kind is None else kind.expressions
    bare = {
        place for pattern in patterns for place in _expand(node.parameters, pattern.split("/"), at)
    }
    found = _Expressions()
    for place, text in _texts(node.parameters, at):
        try:
            compiled: Jq | Template = compile_jq(text) if place in bare else compile_template(text)
        except ExpressionError as error:
            what = quote(place.removeprefix(f"{at}/"))
            message = f"node {quote(node.id)}: the expression in {what} is wrong: {error}"
            hint = "write jq, such as $node_id.field; write $$ for a plain $"
            findings.error(error.code, message, at=place, hint=hint)
            found.dynamic.add(place)
            continue
        if isinstance(compiled, Template) and not compiled.static:
            found.dynamic.add(place)
        found.uses.append(Use(place, compiled.names, compiled.nodes))
    return found


def _expand(value: Any, pattern: list[str], at: str) -> Iterator[str]:
    """Yield the pointers that `pattern` means inside `value`; `*` is every item of a list."""
    if not pattern:
        yield at
        return
    head, *rest = pattern
    if head == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _expand(item, rest, join(at, index))
    elif isinstance(value, Mapping) and head in value:
        yield from _expand(value[head], rest, join(at, head))


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield at, value
        case list():
            for index, item in enumerate(value):
                yield from _texts(item, join(at, index))
        case Mapping():
            for key, item in value.items():
                yield from _texts(item, join(at, key))


def _check_fields(
    node: NodeDocument, at: str, kind: NodeType, expressions: _Expressions, findings: Findings
) -> None:
    fields = {info.encode_name: info for info in msgspec.structs.fields(kind.parameters)}
    before = len(findings.problems)
    for name in node.parameters:
        if name not in fields:
            hint = suggest(name, fields) or (
                f"known are: {', '.join(fields)}" if fields else "remove it: the type takes none"
            )
            message = f"node {quote(node.id)}: {kind.name} has no parameter {quote(name)}"
            findings.error("UNKNOWN_PARAMETER", message, at=join(at, name), hint=hint)
    for name, info in fields.items():
        if name not in node.parameters:
            if info.required:
                message = f"node {quote(node.id)}: {kind.name} needs the parameter {quote(name)}"
                hint = f"add it under `parameters`: {_first_line(kind)}"
                findings.error("MISSING_PARAMETER", message, at=at, hint=hint)
        elif not expressions.touch(join(at, name)):
            _check_field(node, name, info.type, at, findings)
        elif kind.name in _FIXED:
            message = f"node {quote(node.id)}: {quote(name)} of {kind.name} cannot be an expression"
            hint = "write the value itself"
            findings.error("NOT_FIXED", message, at=join(at, name), hint=hint)
    if len(findings.problems) == before and not expressions.touch(at):
        _check_together(node, at, kind, findings)


def _first_line(kind: NodeType) -> str:
    return kind.summary[:1].lower() + kind.summary[1:].rstrip(".")


def _check_field(node: NodeDocument, name: str, type_: Any, at: str, findings: Findings) -> None:
    value = node.parameters[name]
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        what, inner = _in_words(str(error))
        path = f"{name}{inner}"
        message = f"node {quote(node.id)}: parameter {quote(path)} {what}"
        hint = _remedy(value, type_, what)
        findings.error("BAD_PARAMETER", message, at=f"{join(at, name)}{inner}", hint=hint)


def _check_together(node: NodeDocument, at: str, kind: NodeType, findings: Findings) -> None:
    """Report what is wrong with the parameters as a whole: a type's own rules."""
    try:
        msgspec.convert(dict(node.parameters), kind.parameters)
    except msgspec.ValidationError as error:
        message = f"node {quote(node.id)}: {error}"
        hint = f"see {kind.name} in docs/reference/nodes.md"
        findings.error("BAD_PARAMETER", message, at=at, hint=hint)


def _in_words(message: str) -> tuple[str, str]:
    """Return the converter's message in plain words, and the pointer that it is about."""
    match = _MISTYPED.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", path.split("[...]")[0])
    inner = "".join(join("", name or index) for name, index in steps)
    if fault := _FIELD.fullmatch(what):
        verb = "has no" if fault["fault"] == "missing required" else "may not have a"
        return f"{verb} {quote(fault['name'])}", inner
    if what.startswith("Invalid enum value"):
        return f"cannot be {what.removeprefix('Invalid enum value ')}", inner
    words = re.sub(
        r"`([a-z |]+)`",
        lambda kinds: " or ".join(_WORDS.get(word, word) for word in kinds[1].split(" | ")),
        what.replace("Expected", "must be").replace(", got", ", not"),
    )
    return words, inner


def _remedy(value: Any, type_: Any, what: str) -> str:
    choices = tuple(_literals(type_))
    if choices and what.startswith("cannot be"):
        return suggest(str(value), choices) or f"one of: {', '.join(choices)}"
    if what.endswith("not text"):
        return "write it without quotes"
    if what.startswith("must be text,"):
        return "put it in quotes"
    return "see docs/reference/nodes.md"


def _literals(type_: Any) -> Iterator[str]:
    if get_origin(type_) is Literal:
        yield from (str(choice) for choice in get_args(type_))
        return
    for inner in get_args(type_):
        yield from _literals(inner)
