"""Time slices: short evaluations happen at once, long ones are left to another process.

An event loop that evaluates cannot do anything else meanwhile. It therefore evaluates
`within_time_slice`: an expression that is not done after a few thousand steps raises
`TimeSliceExceeded`, which carries the question. The caller has it answered by another process
(`offload.py`) and repeats everything, with the answer at hand. The result of an expression does not
depend on where it is evaluated.
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
"""The version of marshal that writes equal values as equal bytes, however often they are shared."""


class Question(NamedTuple):
    """One evaluation, with everything that it depends on."""

    source: str
    every: bool
    """Whether every value is wanted, or the only one."""
    data: Any
    values: Mapping[int | str, Any]
    now_ms: int
    limits: Limits
    steps: int
    """How many steps it may take."""

    def body(self) -> bytes:
        """Return the question as bytes: the same question is the same bytes."""
        limits = (self.limits.steps, self.limits.bytes, self.limits.depth)
        values = sorted((str(name), value) for name, value in self.values.items())
        return marshal.dumps(
            (self.source, self.every, self.data, values, self.now_ms, limits, self.steps), _EXACT
        )


class EvaluationResult(NamedTuple):
    """The result of an evaluation: a value, or the text and the code of its error."""

    value: Any
    error: tuple[str, str] | None
    spent: int


class TimeSliceExceeded(BaseException):
    """An evaluation takes too long for an event loop. Without a body: the whole slice is used."""

    def __init__(self) -> None:
        self.source = ""
        self.body = b""


class TimeSlice:
    """How much may be evaluated at once, and the answers that are known from before."""

    STEPS_OF_ONE = 20_000
    """How many steps an expression may take: some hundredths of a second."""
    STEPS_OF_ALL = 100_000
    """How many steps all of them may take in one slice."""
    STEPS_WORTH_SAVING = 1_000
    """What took so many steps is not evaluated again in the next slice."""

    def __init__(self) -> None:
        self.left = self.STEPS_OF_ALL
        self._sources: set[str] = set()
        self._answers: dict[bytes, EvaluationResult] = {}

    def restart(self) -> None:
        """Begin another slice; known answers stay."""
        self.left = self.STEPS_OF_ALL

    def learn(self, exceeded: TimeSliceExceeded, answer: EvaluationResult) -> None:
        """Save the answer of another process, and begin another slice."""
        self.restart()
        self._sources.add(exceeded.source)
        self._answers[_digest(exceeded.body)] = answer

    def record(self, question: Question, answer: EvaluationResult) -> None:
        """Charge what was evaluated here, and save the answer if it was expensive."""
        self.left -= answer.spent
        if answer.spent >= self.STEPS_WORTH_SAVING:
            self._sources.add(question.source)
            self._answers[_digest(question.body())] = answer

    def answer(self, question: Question) -> EvaluationResult | None:
        """Return the answer to a question, if it is known; TimeSliceExceeded at the end."""
        known = None
        if question.source in self._sources:
            known = self._answers.get(_digest(question.body()))
        if known is None and self.left <= 0:
            raise TimeSliceExceeded
        return known


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


_time_slice: ContextVar[TimeSlice | None] = ContextVar("time_slice", default=None)


def current_time_slice() -> TimeSlice | None:
    """Return the time slice of the evaluation; None when it may take as long as it needs."""
    return _time_slice.get()


class _WithinTimeSlice:
    """What `within_time_slice` returns. Every token passes here: a generator would cost more."""

    __slots__ = ("_before", "_time_slice")

    def __init__(self, time_slice: TimeSlice | None) -> None:
        self._time_slice = time_slice

    def __enter__(self) -> None:
        self._before = _time_slice.set(self._time_slice)

    def __exit__(self, *_: object) -> None:
        _time_slice.reset(self._before)


def within_time_slice(time_slice: TimeSlice | None) -> AbstractContextManager[None]:
    """Evaluate inside of a time slice: TimeSliceExceeded may be raised. None: without limit."""
    return _WithinTimeSlice(time_slice)
