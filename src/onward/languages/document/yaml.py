"""A reader of YAML 1.2 that records the place of every value.

ruamel.yaml scans the text; which value a scalar is, and what is refused, is decided here: the core
schema of YAML 1.2 and nothing more. So `on` and `12:30` and dates stay text, and neither a tag nor
an alias can make the document larger or other than what a person reads.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ruamel.yaml.error import MarkedYAMLError, StreamMark
from ruamel.yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.loader import BaseLoader
from ruamel.yaml.reader import ReaderError

from onward.errors import DocumentProblem
from onward.languages.document.limits import (
    MAX_BYTES,
    MAX_DEPTH,
    Source,
    UnreadableError,
    join_surrogates,
    read_fraction,
    read_integer,
    report_bad_key,
    report_duplicate_key,
    report_not_finite,
    too_deep,
)
from onward.languages.document.problems import Findings, Place, join

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# What the scanner says, and what a person should do about it.
_HINTS = (
    (r"'\\t'|tab", "indent with spaces: YAML does not allow tabs there"),
    (r"mapping values are not allowed", "quote a value that holds a colon; check the indentation"),
    (r"could not find expected ':'", "write `key: value`, with a space after the colon"),
    (r"unexpected end of stream", "a quote or a bracket is not closed"),
    (r"cannot start any token", "put the value in quotes"),
    (r"block end|block mapping|block collection", "check the indentation, and that lists use `- `"),
    (r"flow sequence|flow mapping|expected ',' or", "a bracket or a comma is missing"),
)
_UNQUOTED = 'put a value that starts with an expression in quotes: "{{ ... }}"'


def read_yaml(text: str) -> Source:
    """Return what `text` says. Raises UnreadableError at the first thing that is not YAML."""
    try:
        return _YamlReader(text).document()
    except UnreadableError:
        raise
    except ReaderError as error:
        place = _place_of_offset(text, error.position)
        message = f"the character {text[error.position : error.position + 1]!a} is not allowed"
        raise _unreadable(message, "write it as an escape in double quotes", place)
    except MarkedYAMLError as error:
        raise _scanner_problem(error, text)
    except Exception:
        # The scanner fails in ways of its own at odd escapes and directives; to the author of the
        # document that is a mistake in the text like any other.
        hint = "look for an escape beyond \\U0010FFFF, or a line that starts with %"
        raise _unreadable("a part of this text is not YAML", hint, None)


class _Anchor(NamedTuple):
    value: Any
    weight: int
    height: int


class _YamlReader:
    """Builds the value from the scanner's events.

    `weight` counts the characters of the document with its aliases written out. Every value is
    returned with its height, so that an alias deep down cannot reach beyond the depth limit.
    """

    def __init__(self, text: str) -> None:
        self.loader = BaseLoader(text)
        self.places: dict[str, Place] = {}
        self.findings = Findings(self.places)
        self.anchors: dict[str, _Anchor | None] = {}
        self.weight = 0

    def document(self) -> Source:
        self._next()
        if self.loader.check_event(StreamEndEvent):
            message = "the document is empty"
            raise _unreadable(message, "write at least `nodes:` with one node", (1, 1))
        self._next()
        first = self._next()
        self.places[""] = _place(first)
        value, _ = self._value(first, "", 1)
        self._next()
        if not self.loader.check_event(StreamEndEvent):
            hint = "put each workflow in a file of its own, without `---` between them"
            raise _unreadable("the text holds several documents", hint, _place(self._next()))
        return Source(value, self.places, tuple(self.findings.problems))

    def _next(self) -> Event:
        event: Event = self.loader.get_event()
        return event

    def _value(self, event: Event, pointer: str, depth: int) -> tuple[Any, int]:
        """Return the value that `event` starts, and how many levels it has."""
        if depth > MAX_DEPTH:
            raise too_deep(*_place(event))
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        # The other three kinds of event that start a value have both; their base class has not.
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if tag:
            message = f"the tag {tag} is not allowed"
            hint = "remove it; put a value in quotes to make it text"
            self.findings.error("TAG", message, at=pointer, hint=hint)
        before = self.weight
        if anchor:
            self.anchors[anchor] = None
        match event:
            case ScalarEvent():
                value, height = self._scalar(event, pointer), 1
            case SequenceStartEvent():
                value, height = self._list(pointer, depth)
            case _:
                value, height = self._mapping(pointer, depth)
        self.weight += 1
        if anchor:
            self.anchors[anchor] = _Anchor(value, self.weight - before, height)
        return value, height

    def _alias(self, event: AliasEvent, depth: int) -> tuple[Any, int]:
        name = event.anchor
        if name not in self.anchors:
            hint = f"mark what is meant with &{name} before it is used"
            raise _unreadable(f"the alias *{name} refers to nothing", hint, _place(event))
        anchor = self.anchors[name]
        if anchor is None:
            message = f"the alias *{name} stands inside the value it refers to"
            raise _unreadable(message, "write the value out", _place(event))
        if depth + anchor.height - 1 > MAX_DEPTH:
            raise too_deep(*_place(event))
        self.weight += anchor.weight
        if self.weight > MAX_BYTES:
            message = f"with its aliases written out the document is over {MAX_BYTES} characters"
            line, column = _place(event)
            hint = "use fewer aliases of aliases"
            raise UnreadableError(
                DocumentProblem("TOO_LARGE", message, hint, line=line, column=column)
            )
        return anchor.value, anchor.height

    def _list(self, pointer: str, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        height = 0
        while not isinstance(event := self._next(), SequenceEndEvent):
            inner = join(pointer, len(items))
            self.places[inner] = _place(event)
            item, below = self._value(event, inner, depth + 1)
            items.append(item)
            height = max(height, below)
        return items, height + 1

    def _mapping(self, pointer: str, depth: int) -> tuple[dict[str, Any], int]:
        mapping: dict[str, Any] = {}
        height = 0
        while not isinstance(event := self._next(), MappingEndEvent):
            key, _ = self._value(event, pointer, depth + 1)
            inner = self._key(event, key, pointer, mapping)
            value, below = self._value(self._next(), inner, depth + 1)
            height = max(height, below)
            if isinstance(key, str):
                mapping[key] = value
        return mapping, height + 1

    def _key(self, event: Event, key: Any, pointer: str, mapping: dict[str, Any]) -> str:
        """Return the pointer of the field that `key` starts, with its place recorded."""
        if not isinstance(key, str):
            inner = join(pointer, "?")
            self.places[inner] = _place(event)
            report_bad_key(key, self.findings, inner)
            return inner
        inner = join(pointer, key)
        first = self.places.get(inner)
        self.places[inner] = _place(event)
        if key in mapping and first is not None:
            report_duplicate_key(key, first, self.findings, inner)
        if key == "<<" and isinstance(event, ScalarEvent) and event.implicit[0]:
            hint = "write the fields out, or use an alias for a whole value"
            self.findings.error("MERGE_KEY", "YAML 1.2 has no merge key", at=inner, hint=hint)
        return inner

    def _scalar(self, event: ScalarEvent, pointer: str) -> Any:
        text: str = event.value
        self.weight += len(text)
        if not event.implicit[0]:
            return join_surrogates(text, self.findings, pointer)
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _INT.fullmatch(text):
            base = {"0x": 16, "0o": 8}.get(text[:2], 10)
            return read_integer(text if base == 10 else text[2:], self.findings, pointer, base)
        if _FLOAT.fullmatch(text):
            return read_fraction(text, self.findings, pointer)
        if _NOT_FINITE.fullmatch(text):
            report_not_finite(text, self.findings, pointer)
            return None
        return join_surrogates(text, self.findings, pointer)


def _place(event: Event) -> Place:
    mark: StreamMark = event.start_mark
    return mark.line + 1, mark.column + 1


def _place_of_offset(text: str, offset: int) -> Place:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _unreadable(message: str, hint: str, place: Place | None) -> UnreadableError:
    line, column = place or (None, None)
    return UnreadableError(DocumentProblem("SYNTAX", message, hint, line=line, column=column))


def _scanner_problem(error: MarkedYAMLError, text: str) -> UnreadableError:
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else None
    message = str(error.problem or error.context or "this is not YAML")
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, message)), "")
    if "{{" in line and '"' not in line and "'" not in line:
        hint = _UNQUOTED
    return _unreadable(re.sub(r"'?<([^>]+)>'?", r"\1", message), hint, place)
