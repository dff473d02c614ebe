"""Asyncio tasks: cancel them for certain, run several together, and outlast services that are away.

`asyncio.wait_for` of Python 3.11, which clients of the services use, swallows a cancellation that
comes in the same moment as the result it waits for: the task continues as if it had never been
cancelled. So `cancel` repeats the cancellation until the task has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
ReportFailure = Callable[[Exception], None]

REPEAT_S = 3.0
"""Longer than cleaning up takes, which should not be interrupted."""


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and return when all of them have ended, however they did."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=REPEAT_S)


async def together(*works: Coroutine[Any, Any, None]) -> None:
    """Run several coroutines until all have ended or one fails; its error is raised, the others
    are cancelled.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel(*tasks)
    errors = (task.exception() for task in tasks if not task.cancelled())
    problem = next((error for error in errors if error), None)
    if problem is not None:
        raise problem


# -- services that are away ----------------------------------------------------------------------


async def retry(
    work: Callable[[], Awaitable[T]],
    failures: type[Exception] | tuple[type[Exception], ...],
    report: ReportFailure | None = None,
    *,
    first_pause_s: float,
    longest_pause_s: float,
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Return the result of `work` once it succeeds, however long a service is away.

    Each of the `failures` is reported, and followed by a pause: twice as long as the one before, up
    to the longest. Any other exception is raised.
    """
    pause_s = first_pause_s
    while True:
        try:
            return await work()
        except failures as problem:
            if report is not None:
                report(problem)
        await sleep(pause_s)
        pause_s = min(2 * pause_s, longest_pause_s)


async def repeat(
    work: Callable[[], Awaitable[object]],
    report: ReportFailure,
    *,
    pause_s: float,
    sleep: Sleep = asyncio.sleep,
) -> NoReturn:
    """Do `work` again and again until cancelled, with a pause after each time.

    A failure is reported and ends nothing: most likely a service is away, and the next time may
    find it back.
    """
    while True:
        try:
            await work()
        except Exception as problem:
            report(problem)
        await sleep(pause_s)
