"""Cancelling for certain.

`asyncio.wait_for` of Python 3.11, which clients of the services use, swallows a cancellation that
comes in the same moment as what it waits for: the task goes on as if nothing had been said. So it
is said again until it is heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

REPEAT_S = 3.0
"""Longer than it takes to tidy up: what is being undone should not be interrupted."""


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and return when all of them have ended, however they did."""
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=REPEAT_S)


async def together(*works: Coroutine[Any, Any, None]) -> None:
    """Do several things until all have ended or one fails; its error is raised, the others end."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel(*tasks)
    problems = [one for one in (task.exception() for task in tasks if not task.cancelled()) if one]
    if problems:
        raise problems[0]
