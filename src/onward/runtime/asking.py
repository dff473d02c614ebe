"""What the embedded engine has put off until a long evaluation is done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from onward.expressions.pace import Lengthy, Pace
from onward.runtime.evaluating import Evaluators
from onward.runtime.run import Run


class Asked(NamedTuple):
    """A token whose handling waits for an answer."""

    run: Run
    seq: int
    lengthy: Lengthy
    pace: Pace
    again: Callable[[], None]
    """Handle it again, with the answer."""


class Asking:
    """Has questions answered, beside everything else."""

    def __init__(self, evaluators: Evaluators, wake: asyncio.Event) -> None:
        self._evaluators = evaluators
        self._wake = wake
        self.answered: deque[Asked] = deque()

    def ask(self, questions: list[Asked]) -> None:
        """Begin to look for answers, and empty the list; each is cancelled with its run."""
        for one in questions:
            one.run.activities[one.seq] = asyncio.create_task(self._find(one))
        questions.clear()

    def taken(self) -> Iterator[Asked]:
        """Return what can go on now."""
        while self.answered:
            one = self.answered.popleft()
            if not one.run.ended:
                yield one

    async def _find(self, one: Asked) -> None:
        try:
            await self._evaluators.help(one.pace, one.lengthy)
            self.answered.append(one)
        finally:
            one.run.activities.pop(one.seq, None)
            self._wake.set()
