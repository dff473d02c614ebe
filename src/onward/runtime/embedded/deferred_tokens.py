"""What the embedded engine has put off until a long evaluation is done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from onward.expressions.time_slice import TimeSlice, TimeSliceExceeded
from onward.runtime.activity.evaluators import Evaluators
from onward.runtime.embedded.active_run import ActiveRun


class DeferredToken(NamedTuple):
    """A token whose handling waits for an answer."""

    run: ActiveRun
    seq: int
    lengthy: TimeSliceExceeded
    pace: TimeSlice
    again: Callable[[], None]
    """Handle it again, with the answer."""


class DeferredTokens:
    """Has questions answered, beside everything else."""

    def __init__(self, evaluators: Evaluators, wake: asyncio.Event) -> None:
        self._evaluators = evaluators
        self._wake = wake
        self.answered: deque[DeferredToken] = deque()

    def ask(self, questions: list[DeferredToken]) -> None:
        """Begin to look for answers, and empty the list; each is cancelled with its run."""
        for question in questions:
            question.run.activities[question.seq] = asyncio.create_task(self._find(question))
        questions.clear()

    def taken(self) -> Iterator[DeferredToken]:
        """Return what can go on now."""
        while self.answered:
            one = self.answered.popleft()
            if not one.run.ended:
                yield one

    async def _find(self, one: DeferredToken) -> None:
        try:
            await self._evaluators.resolve(one.pace, one.lengthy)
            self.answered.append(one)
        finally:
            one.run.activities.pop(one.seq, None)
            self._wake.set()
