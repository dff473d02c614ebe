"""Long evaluations, away from the loop that everybody shares: in processes of their own.

An evaluation ends by itself, after so many steps. Until then it keeps one core busy and nothing
else: a thread would take turns with the event loop at everything that is done there.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from onward.expressions.offload import read_answer
from onward.expressions.time_slice import EvaluationResult, TimeSlice, TimeSliceExceeded
from onward.runtime.activity.evaluator_process import LENGTH, framed

COMMAND = (sys.executable, "-m", "onward.runtime.activity.evaluator_process")
MOST = 2
"""How many evaluate at once: what is long waits for its turn, what is short never comes here."""
TRIES = 2
"""How often a question is put whose process dies: of the first death it may be innocent."""
_DIED = (
    "the expression was stopped: the process that evaluated it was killed, as happens when the"
    " machine is out of memory; give it less data"
)

T = TypeVar("T")


class Evaluators:
    """The processes in which one engine or worker evaluates what takes long."""

    def __init__(self, most: int = MOST) -> None:
        self._free = asyncio.Semaphore(most)
        self._idle: list[Process] = []

    async def through(self, work: Callable[[TimeSlice], Awaitable[T]]) -> T:
        """Return what `work` comes to at a pace; it is done again with each long answer."""
        pace = TimeSlice()
        while True:
            try:
                return await work(pace)
            except TimeSliceExceeded as lengthy:
                asked = lengthy
            await self.help(pace, asked)

    async def help(self, pace: TimeSlice, lengthy: TimeSliceExceeded) -> None:
        """Let others have their turn, and learn what took too long."""
        if lengthy.body:
            pace.learn(lengthy, await self.answer(lengthy))
        else:
            await asyncio.sleep(0)
            pace.restart()

    async def answer(self, lengthy: TimeSliceExceeded) -> EvaluationResult:
        """Return what an evaluation comes to; the loop goes on meanwhile."""
        async with self._free:
            for _ in range(TRIES):
                process = self._idle.pop() if self._idle else await _start()
                try:
                    body = await _ask(process, lengthy.body)
                except (asyncio.IncompleteReadError, ConnectionError):
                    await _kill(process)
                except BaseException:  # nobody waits for the answer any more
                    await _kill(process)
                    raise
                else:
                    self._idle.append(process)
                    return read_answer(body)
        return EvaluationResult(None, (_DIED, "EXPRESSION_LIMIT"), 0)

    async def aclose(self) -> None:
        """End those that wait for work."""
        idle, self._idle = self._idle, []
        for process in idle:
            await _kill(process)


async def _start() -> Process:
    """Start one that finds the modules that we find."""
    places = os.pathsep.join(place or os.curdir for place in sys.path)
    environment = {**os.environ, "PYTHONPATH": places}
    return await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE, env=environment)


async def _ask(process: Process, question: bytes) -> bytes:
    given, said = process.stdin, process.stdout
    if given is None or said is None:
        raise RuntimeError("a process without pipes")
    given.write(framed(question))
    await given.drain()
    (size,) = LENGTH.unpack(await said.readexactly(LENGTH.size))
    return await said.readexactly(size)


async def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


# -- Letting the event loop turn between two evaluations that take long.
#
# An expression has a budget of work, so it ends; but one that uses it all keeps the loop for
# seconds, and messages that are handled together could do so one after the other before anything
# else gets its turn: connections would be taken for dead. With this, only one of them goes between
# two turns.


LONG_S = 0.02


class LoopFairness:
    """Shared by everyone who evaluates in one event loop."""

    def __init__(self) -> None:
        self._used = False

    async def wait(self) -> None:
        """Return when nobody has used up this turn of the loop."""
        while self._used:  # noqa: ASYNC110  (an event would wake all of them at once)
            await asyncio.sleep(0)

    def spent(self, seconds: float) -> None:
        """Say how long an evaluation took."""
        if seconds > LONG_S and not self._used:
            self._used = True
            asyncio.get_running_loop().call_soon(self._refresh)

    def _refresh(self) -> None:
        self._used = False
