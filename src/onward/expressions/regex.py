"""jq's regular expressions, matched by RE2 in time linear in the text.

A backtracking engine can be made to run for centuries by a short pattern such as `(a+)+$`, and
nothing can interrupt it. RE2 cannot: the price is that look-around and back-references do not exist
and that `\\d`, `\\w`, `\\s` and `\\b` mean ASCII (`\\p{L}` and its kin mean Unicode).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import re2  # type: ignore[import-untyped]  # its wheel ships no types

from onward.expressions.meter import EvaluationMeter
from onward.expressions.native import combinations
from onward.expressions.operations import PYTHON_ERRORS, failure
from onward.expressions.purejq import describe, jq_error
from onward.expressions.scope import FunctionName, NativeFunction
from onward.expressions.stream import Argument, Env, Flow, Path, computed_path

_FLAGS = frozenset("gilnps")
_MEMORY = 4 * 1024 * 1024

Match = Any
"""A match object of RE2, which has the shape of Python's own."""


class _Pattern:
    """A compiled pattern with the flags jq applies around it."""

    __slots__ = ("_everywhere", "_regexp", "_skip_empty")

    def __init__(self, meter: EvaluationMeter, pattern: Any, flags: Any) -> None:
        if not isinstance(pattern, str):
            raise jq_error(f"{describe(pattern)} cannot be matched, as it is not a string")
        if flags is not None and not isinstance(flags, str):
            raise jq_error(f"{describe(flags)} is not a string")
        unknown = set(flags or "") - _FLAGS
        if unknown:
            raise jq_error(f"{flags} is not a valid modifier string: use g, i, l, n, p or s")
        given = frozenset(flags or "")
        self._everywhere = "g" in given
        self._skip_empty = "n" in given
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        options.case_sensitive = "i" not in given
        options.dot_nl = "p" in given
        options.longest_match = "l" in given
        meter.spend(1 + len(pattern))
        try:
            self._regexp = re2.compile(pattern, options)
        except re2.error as error:
            raise jq_error(f"{_words(error)} (while regex-compiling {pattern})")
        meter.spend(self._regexp.programsize >> 1)

    def matches(
        self, meter: EvaluationMeter, text: str, everywhere: bool = False
    ) -> Iterator[Match]:
        """Yield the matches in `text`: all of them, or only the first."""
        meter.spend(len(text) * (1 + (self._regexp.programsize >> 6)) >> 5)
        before = None
        for match in self._regexp.finditer(text):
            meter.spend(16 + 2 * self._regexp.groups)
            # At the end of the text RE2 finds the same empty match twice.
            if match.span() == before or (self._skip_empty and match.start() == match.end()):
                continue
            before = match.span()
            yield match
            if not (everywhere or self._everywhere):
                return

    @property
    def names(self) -> dict[str, int]:
        """The named groups and their numbers."""
        return dict(self._regexp.groupindex)


def _words(error: Exception) -> str:
    (words,) = error.args or ("",)
    return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)


def _captures(pattern: _Pattern, match: Match) -> dict[str, Any]:
    return {name: match.group(number) for name, number in pattern.names.items()}


def _describe_match(pattern: _Pattern, match: Match) -> dict[str, Any]:
    names = {number: name for name, number in pattern.names.items()}
    groups = range(1, len(match.groups()) + 1)
    return {
        **_span(match, 0),
        "captures": [{**_span(match, group), "name": names.get(group)} for group in groups],
    }


def _span(match: Match, group: int) -> dict[str, Any]:
    start, end = match.span(group)
    return {"offset": start, "length": end - start, "string": match.group(group)}


def _strings(pattern: _Pattern, match: Match) -> Any:
    groups = match.groups()
    return list(groups) if groups else match.group()


def _patterns(env: Env, value: Any, arguments: tuple[Argument, ...]) -> Iterator[_Pattern]:
    """Yield a pattern for each combination of pattern and flags; `["p", "g"]` is both at once."""
    if not isinstance(value, str):
        raise jq_error(f"{describe(value)} cannot be matched, as it is not a string")
    for given in combinations(arguments, value):
        if len(given) == 1 and isinstance(given[0], list) and given[0]:
            given = tuple(given[0][:2])  # noqa: PLW2901  (the other way to write the same)
        pattern, flags = (*given, None)[:2]
        yield _Pattern(env.meter, pattern, flags)


def _guarded(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Flow]]:
    """Return `run` as a builtin: its values are admitted, and odd text is a jq error."""

    def guarded(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
        try:
            for result in run(env, value, *arguments):
                yield computed_path(path), env.meter.admit(result)
        except PYTHON_ERRORS as error:
            raise failure(error)

    return guarded


def _each(
    show: Callable[[_Pattern, Match], Any], everywhere: bool = False
) -> Callable[..., Iterator[Flow]]:
    @_guarded
    def run(env: Env, value: Any, *arguments: Argument) -> Iterator[Any]:
        for pattern in _patterns(env, value, arguments):
            for match in pattern.matches(env.meter, value, everywhere):
                yield show(pattern, match)

    return run


@_guarded
def _test(env: Env, value: Any, *arguments: Argument) -> Iterator[Any]:
    for pattern in _patterns(env, value, arguments):
        yield next(pattern.matches(env.meter, value), None) is not None


@_guarded
def _split(env: Env, value: Any, *arguments: Argument) -> Iterator[Any]:
    for pattern in _patterns(env, value, arguments):
        pieces, at = [], 0
        for match in pattern.matches(env.meter, value, everywhere=True):
            pieces.append(value[at : match.start()])
            at = match.end()
        yield [*pieces, value[at:]]


def _substitute(everywhere: bool) -> Callable[..., Iterator[Flow]]:
    @_guarded
    def run(
        env: Env, value: Any, pattern: Argument, replacement: Argument, *flags: Argument
    ) -> Iterator[Any]:
        for compiled in _patterns(env, value, (pattern, *flags)):
            # The first texts of all replacements make the first result, the second ones the
            # second, and so on.
            drafts: list[list[str]] = []
            at = size = 0
            for match in compiled.matches(env.meter, value, everywhere):
                gap = value[at : match.start()]
                texts = _texts(replacement, _captures(compiled, match))
                for draft, text in _pair(drafts, texts):
                    draft.extend((gap, text))
                    size += len(gap) + len(text)
                    env.meter.announce(size)
                at = match.end()
            for draft in drafts or [[value[:at]]]:
                yield "".join([*draft, value[at:]])

    return run


def _pair(drafts: list[list[str]], texts: Iterator[str]) -> Iterator[tuple[list[str], str]]:
    """Yield each text with its draft; a text more than there are drafts starts a new one."""
    for place, text in enumerate(texts):
        if place == len(drafts):
            drafts.append([])
        yield drafts[place], text


def _texts(replacement: Argument, captures: dict[str, Any]) -> Iterator[str]:
    for text in replacement.vals(captures):
        if not isinstance(text, str):
            raise jq_error(f"{describe(text)} cannot be added to a string")
        yield text


MATCHING: dict[FunctionName, NativeFunction] = {
    ("capture", 1): NativeFunction(_each(_captures)),
    ("capture", 2): NativeFunction(_each(_captures)),
    ("gsub", 2): NativeFunction(_substitute(True)),
    ("gsub", 3): NativeFunction(_substitute(True)),
    ("match", 1): NativeFunction(_each(_describe_match)),
    ("match", 2): NativeFunction(_each(_describe_match)),
    ("scan", 1): NativeFunction(_each(_strings, everywhere=True)),
    ("scan", 2): NativeFunction(_each(_strings, everywhere=True)),
    ("split", 2): NativeFunction(_split, once=True),
    ("sub", 2): NativeFunction(_substitute(False)),
    ("sub", 3): NativeFunction(_substitute(False)),
    ("test", 1): NativeFunction(_test, once=True),
    ("test", 2): NativeFunction(_test, once=True),
}
