"""A reader of JSON that records the place of every value.

The standard reader records no places, and silently takes the last of two equal keys.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any, NoReturn

from onward.errors import DocumentProblem
from onward.languages.document.limits import (
    MAX_DEPTH,
    Source,
    UnreadableError,
    join_surrogates,
    read_fraction,
    read_integer,
    report_duplicate_key,
    report_not_finite,
    too_deep,
)
from onward.languages.document.problems import Findings, Place, join, quote

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"-?(?:NaN|Infinity)\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LITERALS = {"true": True, "false": False, "null": None}


def read_json(text: str) -> Source:
    """Return what `text` says. Raises UnreadableError at the first thing that is not JSON."""
    return _JsonReader(text).document()


class _JsonReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.places: dict[str, Place] = {}
        self.findings = Findings(self.places)
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self) -> Source:
        start = self._skip(0)
        self.places[""] = self._place(start)
        value, end = self._value(start, "", 1)
        end = self._skip(end)
        if end < len(self.text):
            self._fail(end, "there is more text after the end of the document", "remove it")
        return Source(value, self.places, tuple(self.findings.problems))

    def _value(self, at: int, pointer: str, depth: int) -> tuple[Any, int]:
        """Return the value that starts at offset `at`, and the offset behind it."""
        if depth > MAX_DEPTH:
            raise too_deep(*self._place(at))
        match self.text[at : at + 1]:
            case "{":
                return self._mapping(at, pointer, depth)
            case "[":
                return self._list(at, pointer, depth)
            case '"':
                return self._string(at, pointer)
            case _:
                return self._scalar(at, pointer)

    def _mapping(self, at: int, pointer: str, depth: int) -> tuple[dict[str, Any], int]:
        mapping: dict[str, Any] = {}
        at = self._skip(at + 1)
        if self.text[at : at + 1] == "}":
            return mapping, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                self._fail_expecting(at, "a key in double quotes", closing="}")
            place = self._place(at)
            key, at = self._string(at, pointer)
            inner = join(pointer, key)
            at = self._skip(at)
            if self.text[at : at + 1] != ":":
                self._fail_expecting(at, f"a colon after the key {quote(key)}")
            if key in mapping:
                first, self.places[inner] = self.places[inner], place
                report_duplicate_key(key, first, self.findings, inner)
            self.places[inner] = place
            mapping[key], at = self._value(self._skip(at + 1), inner, depth + 1)
            at, more = self._separator(at, "}")
            if not more:
                return mapping, at

    def _list(self, at: int, pointer: str, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self._skip(at + 1)
        if self.text[at : at + 1] == "]":
            return items, at + 1
        while True:
            inner = join(pointer, len(items))
            self.places[inner] = self._place(at)
            item, at = self._value(at, inner, depth + 1)
            items.append(item)
            at, more = self._separator(at, "]")
            if not more:
                return items, at

    def _separator(self, at: int, closing: str) -> tuple[int, bool]:
        """Return the offset behind the comma or the closing bracket, and whether more follows."""
        at = self._skip(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at + 1, False
        if found != ",":
            self._fail_expecting(at, f'a comma or "{closing}"')
        at = self._skip(at + 1)
        if self.text[at : at + 1] == closing:
            self._fail(at, f'there is a comma before "{closing}"', "remove the comma")
        return at, True

    def _string(self, at: int, pointer: str) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            self._bad_string(at)
        raw = found.group()
        text = raw[1:-1] if "\\" not in raw else json.loads(raw)
        return join_surrogates(text, self.findings, pointer), found.end()

    def _bad_string(self, at: int) -> NoReturn:
        end = at + 1
        while end < len(self.text) and self.text[end] not in '"\n':
            if self.text[end] < " ":
                hint = "write a tab as \\t and other control characters as \\u00XX"
                self._fail(end, "text may not hold a control character", hint)
            if self.text[end] == "\\":
                if not _ESCAPE.match(self.text, end):
                    hint = (
                        'write a backslash as \\\\; known are \\" \\/ \\b \\f \\n \\r \\t \\uXXXX'
                    )
                    self._fail(end, "text holds an unknown escape", hint)
                end += 1
            end += 1
        hint = 'close it with "; write a line break inside text as \\n'
        self._fail(at, "the text that starts here is not closed on its line", hint)

    def _scalar(self, at: int, pointer: str) -> tuple[Any, int]:
        if odd := _NOT_FINITE.match(self.text, at):
            report_not_finite(odd.group(), self.findings, pointer)
            return None, odd.end()
        if number := _NUMBER.match(self.text, at):
            if number[2] or number[3]:
                return read_fraction(number.group(), self.findings, pointer), number.end()
            return read_integer(number[1], self.findings, pointer), number.end()
        word = _WORD.match(self.text, at)
        if word is None or word.group() not in _LITERALS:
            self._fail_expecting(at, "a value")
        return _LITERALS[word.group()], word.end()

    def _fail_expecting(self, at: int, wanted: str, closing: str = "") -> NoReturn:
        found = self.text[at : at + 1]
        word = _WORD.match(self.text, at)
        shown = quote(word.group() if word else found)
        hint = f"add {wanted}{f' or close with {chr(34)}{closing}{chr(34)}' if closing else ''}"
        if not found:
            shown, hint = "the end of the text", "a bracket or a brace is not closed"
        elif found == "'":
            hint = "JSON uses double quotes only"
        elif found in "/#":
            hint = "JSON has no comments; write the document in YAML to use them"
        elif word and word.group().lower() in {"true", "false", "null", "none"}:
            hint = "JSON writes true, false and null"
        elif word:
            hint = "text and keys need double quotes"
        self._fail(at, f"expected {wanted}, found {shown}", hint)

    def _fail(self, at: int, message: str, hint: str) -> NoReturn:
        line, column = self._place(at)
        raise UnreadableError(DocumentProblem("SYNTAX", message, hint, line=line, column=column))

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _place(self, at: int) -> Place:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1
