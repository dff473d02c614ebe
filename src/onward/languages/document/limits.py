"""The limits of both readers: which values a document may hold, and how large it may be.

What one format could say and the other could not (tags, dates, keys that are not text, NaN) is
refused, so that a document means the same as JSON and as YAML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onward.errors import DocumentProblem
from onward.languages.document.problems import Findings, Place, join, kind_of, quote

MAX_BYTES = 5 * 1024 * 1024
MAX_DEPTH = 100
# Python refuses to read longer integers, because the time it takes grows with the square.
MAX_DIGITS = 4300


@dataclass(frozen=True, slots=True)
class Source:
    """A document as plain values, its places, and what was wrong without making it unreadable.

    A place is the 1-based (line, column) of the key for a field, of the value for a list's item.
    """

    value: Any
    places: Mapping[str, Place]
    problems: tuple[DocumentProblem, ...] = ()


class UnreadableError(Exception):
    """The text cannot be read any further. It never leaves this package."""

    def __init__(self, problem: DocumentProblem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def too_deep(line: int | None = None, column: int | None = None) -> UnreadableError:
    """Return the refusal of a document that is nested beyond the limit."""
    return UnreadableError(
        DocumentProblem(
            "TOO_DEEP",
            f"the document is nested more than {MAX_DEPTH} levels deep",
            "move the inner data out of the document, for example into the run's input",
            line=line,
            column=column,
        )
    )


def too_large(size: str) -> UnreadableError:
    """Return the refusal of a document that is larger than the limit."""
    return UnreadableError(
        DocumentProblem(
            "TOO_LARGE",
            f"the document is {size}; at most {MAX_BYTES // 1024 // 1024} MB are read",
            "pass large data as the run's input instead of writing it into the document",
        )
    )


def read_integer(digits: str, findings: Findings, at: str, base: int = 10) -> int | None:
    """Return the exact integer, however large; beyond 4,300 digits it is a problem."""
    if len(digits) > MAX_DIGITS:
        message = f"an integer of {len(digits)} digits is too long"
        findings.error("BAD_NUMBER", message, at=at, hint="write it as text, in quotes")
        return None
    return int(digits, base)


def read_fraction(text: str, findings: Findings, at: str) -> float | None:
    """Return the number; one that is not finite is a problem."""
    number = float(text)
    if math.isfinite(number):
        return number
    report_not_finite(text, findings, at)
    return None


def report_not_finite(text: str, findings: Findings, at: str) -> None:
    """Report a number that JSON cannot carry."""
    message = f"{text} is not a number that JSON can carry"
    findings.error("BAD_NUMBER", message, at=at, hint="use a finite number, null, or quoted text")


def join_surrogates(text: str, findings: Findings, at: str) -> str:
    """Return `text` with its surrogate pairs joined; half a pair is a problem."""
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        message = "the text holds half of a surrogate pair, which no encoding can carry"
        findings.error("BAD_TEXT", message, at=at, hint="remove the stray \\ud800 to \\udfff")
        return text.encode("utf-8", "replace").decode()


def report_bad_key(key: Any, findings: Findings, at: str) -> None:
    """Report a key of a mapping that is not text."""
    if isinstance(key, Mapping | list):
        what, hint = kind_of(key), 'put expressions in quotes: "{{ ... }}"'
    else:
        shown = json.dumps(key)
        what, hint = f"{kind_of(key)} ({shown})", f'put it in quotes: "{shown}"'
    findings.error("KEY_NOT_TEXT", f"a key must be text, not {what}", at=at, hint=hint)


def report_duplicate_key(key: str, first: Place, findings: Findings, at: str) -> None:
    """Report a key that a mapping has twice."""
    message = f"{quote(key)} is given twice in one mapping (first on line {first[0]})"
    findings.error("DUPLICATE_KEY", message, at=at, hint="keep one of them")


def check_plain(value: Any, findings: Findings, at: str = "", depth: int = 1) -> Any:
    """Return a decoded value as plain JSON values, with what is not one reported.

    Raises UnreadableError for a value nested beyond the limit.
    """
    if depth > MAX_DEPTH:
        raise too_deep()
    match value:
        case None | bool() | int():
            return value
        case float():
            return read_fraction(repr(value), findings, at)
        case str():
            return join_surrogates(value, findings, at)
        case list() | tuple():
            return [
                check_plain(item, findings, join(at, index), depth + 1)
                for index, item in enumerate(value)
            ]
        case Mapping():
            return _plain_mapping(value, findings, at, depth)
        case _:
            findings.error("NOT_JSON", f"{kind_of(value)} is not a JSON value", at=at)
            return None


def _plain_mapping(
    value: Mapping[Any, Any], findings: Findings, at: str, depth: int
) -> dict[str, Any]:
    plain = {}
    for key, item in value.items():
        if isinstance(key, str):
            name = join_surrogates(key, findings, at)
            plain[name] = check_plain(item, findings, join(at, name), depth + 1)
        else:
            report_bad_key(key, findings, at)
    return plain
