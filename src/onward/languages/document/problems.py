"""Collects what is wrong with a document, each finding with its place.

A place is asked for by JSON pointer. Where the text has no place for that very pointer (it lies
inside an alias, or the document was not read from text) the nearest enclosing one is named.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from onward.errors import DocumentProblem, Severity
from onward.kernel.records import Definition

Place = tuple[int, int]

# Comparing a misspelt name with thousands of others is slow, and people cannot use the answer.
_COMPARED = 200


class CheckedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was checked: its problems, and its definition if it can run."""

    definition: Definition | None
    problems: tuple[DocumentProblem, ...]


class Findings:
    """Every problem found so far, in the order found."""

    def __init__(self, places: Mapping[str, Place] | None = None) -> None:
        self.places: Mapping[str, Place] = {} if places is None else places
        self.problems: list[DocumentProblem] = []

    def error(self, code: str, message: str, *, at: str, hint: str = "") -> None:
        """Add a problem that keeps the document from running."""
        self._add(code, message, at, hint, "error")

    def warning(self, code: str, message: str, *, at: str, hint: str = "") -> None:
        """Add a problem that the author should know and may accept."""
        self._add(code, message, at, hint, "warning")

    def _add(self, code: str, message: str, at: str, hint: str, severity: Severity) -> None:
        line, column = find_place(self.places, at) or (None, None)
        self.problems.append(
            DocumentProblem(code, message, hint, at, line=line, column=column, severity=severity)
        )


def find_place(places: Mapping[str, Place], pointer: str) -> Place | None:
    """Return the place of `pointer`, or of the nearest thing around it that has one."""
    while pointer not in places and pointer:
        pointer = pointer.rpartition("/")[0]
    return places.get(pointer)


def join(pointer: str, key: str | int) -> str:
    """Return the pointer of `key` inside what `pointer` names (RFC 6901)."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word most like `name`, or "" when none is like it."""
    near = [word for word in known if abs(len(word) - len(name)) <= 3][:_COMPARED]
    folded = {word.casefold(): word for word in reversed(near)}
    matches = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {quote(folded[matches[0]])}?" if matches else ""


def quote(text: str) -> str:
    """Return `text` in double quotes, cut short so that a message stays readable."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown) + '"'


def kind_of(value: Any) -> str:
    """Return what people call the type of a JSON value."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "a mapping"
        case _:
            return f"a {type(value).__name__}"
