"""Expressions that take long, away from the event loop that everything else shares.

An evaluation ends by itself, after so many steps. Until then it keeps one core busy: in a thread it
would still compete with the event loop for the interpreter, so it runs in a process of its own
(`Evaluators`). Those that are just short enough to stay are spread out (`LoopFairness`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from onward.expressions.offload import read_answer
from onward.expressions.time_slice import EvaluationResult, TimeSlice, TimeSliceExceeded
from onward.runtime.activity.process_pool import ProcessPool

MODULE = "onward.runtime.activity.evaluator_process"
MOST_PROCESSES = 2
"""How many evaluate at once: long evaluations wait for their turn, short ones never come here."""
MOST_ATTEMPTS = 2
"""How often a question is asked whose process dies: the first death may have another cause."""
LONG_S = 0.02
"""An evaluation in the event loop that takes longer uses up the loop's current turn."""
_DIED = (
    "the expression was stopped: the process that evaluated it was killed, as happens when the"
    " machine is out of memory; give it less data"
)

T = TypeVar("T")


class Evaluators:
    """The processes in which one engine or worker evaluates what takes long."""

    def __init__(self) -> None:
        self._pool = ProcessPool(MODULE, MOST_PROCESSES)

    async def aclose(self) -> None:
        """End the processes."""
        await self._pool.aclose()

    async def run_with_answers(self, work: Callable[[TimeSlice], Awaitable[T]]) -> T:
        """Return the result of `work` within a time slice; it is repeated with each answer."""
        time_slice = TimeSlice()
        while True:
            try:
                return await work(time_slice)
            except TimeSliceExceeded as exceeded:
                question = exceeded
            await self.resolve(time_slice, question)

    async def resolve(self, time_slice: TimeSlice, exceeded: TimeSliceExceeded) -> None:
        """Let others have their turn, and give the time slice the answer to what took too long."""
        if exceeded.body:
            time_slice.learn(exceeded, await self.answer(exceeded))
        else:
            await asyncio.sleep(0)
            time_slice.restart()

    async def answer(self, exceeded: TimeSliceExceeded) -> EvaluationResult:
        """Return the result of an evaluation; the event loop keeps running meanwhile."""
        for _ in range(MOST_ATTEMPTS):
            async with self._pool.process() as process:
                await process.send(exceeded.body)
                try:
                    body = await process.receive()
                except asyncio.IncompleteReadError:
                    continue
                process.is_free = True
            return read_answer(body)
        return EvaluationResult(None, (_DIED, "EXPRESSION_LIMIT"), 0)


class LoopFairness:
    """Lets the event loop turn between two evaluations that take long.

    An expression has a budget of work, so it ends; but one that uses it all keeps the loop for
    long, and messages that are handled together could do so one after the other before anything
    else gets its turn: connections would be taken for dead. With this, shared by all who evaluate
    in one event loop, only one of them runs between two turns.
    """

    def __init__(self) -> None:
        self._used = False

    async def wait(self) -> None:
        """Return when no evaluation has used up this turn of the loop."""
        while self._used:  # noqa: ASYNC110  (an event would wake all of them at once)
            await asyncio.sleep(0)

    def spent(self, seconds: float) -> None:
        """Note how long an evaluation took."""
        if seconds > LONG_S and not self._used:
            self._used = True
            asyncio.get_running_loop().call_soon(self._refresh)

    def _refresh(self) -> None:
        self._used = False
