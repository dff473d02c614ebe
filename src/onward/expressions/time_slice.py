"""Evaluating where others wait for their turn: what is short at once, what is long elsewhere.

An event loop that evaluates cannot do anything else meanwhile. It therefore evaluates `hurried`: an
expression that is not done after a few thousand steps raises `Lengthy`, which carries the question.
Whoever catches it has the question answered elsewhere (`elsewhere.py`) and does everything again,
with the answer at hand. What an expression comes to does not depend on where it is evaluated.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, NamedTuple

from onward.expressions.limits import Limits

_EXACT = 2
"""The version of marshal that writes equal values as equal bytes, whoever else holds them."""


class Question(NamedTuple):
    """One evaluation, with all that it depends on."""

    source: str
    every: bool
    """Whether every value is asked for, or the only one."""
    data: Any
    values: Mapping[int | str, Any]
    now_ms: int
    limits: Limits
    steps: int
    """How many steps it may take."""

    def body(self) -> bytes:
        """Return the question as it travels: the same question is the same bytes."""
        limits = (self.limits.steps, self.limits.bytes, self.limits.depth)
        values = sorted((str(name), value) for name, value in self.values.items())
        return marshal.dumps(
            (self.source, self.every, self.data, values, self.now_ms, limits, self.steps), _EXACT
        )


class EvaluationResult(NamedTuple):
    """What an evaluation came to: a value, or the words and the code of its error."""

    value: Any
    error: tuple[str, str] | None
    spent: int


class TimeSliceExceeded(BaseException):
    """An evaluation takes too long for those who wait; without a body, their turn is over."""

    def __init__(self) -> None:
        self.source = ""
        self.body = b""


class TimeSlice:
    """How much may be evaluated at once, and what was answered elsewhere before."""

    FIRST = 20_000
    """How many steps an expression may take: some hundredths of a second."""
    ALL = 100_000
    """How many steps all of them may take in one turn."""
    WORTH_KEEPING = 1_000
    """What took so many steps is not evaluated again in the next turn."""

    def __init__(self) -> None:
        self.left = self.ALL
        self._sources: set[str] = set()
        self._answers: dict[bytes, EvaluationResult] = {}

    def rest(self) -> None:
        """Begin another turn."""
        self.left = self.ALL

    def learn(self, lengthy: TimeSliceExceeded, answer: EvaluationResult) -> None:
        """Note what was answered elsewhere, and begin another turn."""
        self.rest()
        self._sources.add(lengthy.source)
        self._answers[_digest(lengthy.body)] = answer

    def took(self, question: Question, answer: EvaluationResult) -> None:
        """Note what was evaluated here."""
        self.left -= answer.spent
        if answer.spent >= self.WORTH_KEEPING:
            self._sources.add(question.source)
            self._answers[_digest(question.body())] = answer

    def answer(self, question: Question) -> EvaluationResult | None:
        """Return the answer to a question, if it is known; Lengthy when the turn is over."""
        known = None
        if question.source in self._sources:
            known = self._answers.get(_digest(question.body()))
        if known is None and self.left <= 0:
            raise TimeSliceExceeded
        return known


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


_pace: ContextVar[TimeSlice | None] = ContextVar("pace", default=None)


def current() -> TimeSlice | None:
    """Return how fast an evaluation has to be; None when nobody waits for it."""
    return _pace.get()


class _Hurry:
    """What `hurried` returns. Every token passes here, and a generator would cost it more."""

    __slots__ = ("_before", "_wanted")

    def __init__(self, wanted: TimeSlice | None) -> None:
        self._wanted = wanted

    def __enter__(self) -> None:
        self._before = _pace.set(self._wanted)

    def __exit__(self, *_: object) -> None:
        _pace.reset(self._before)


def within_time_slice(pace: TimeSlice | None) -> AbstractContextManager[None]:
    """Evaluate at this pace inside; Lengthy may come out. None: nobody waits."""
    return _Hurry(pace)
