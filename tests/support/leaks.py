"""Run something in an event loop of its own, and find what it left open."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

LOOPS = [pytest.param(asyncio.new_event_loop, id="asyncio")]
try:
    import uvloop
except ImportError:
    pass
else:
    LOOPS.append(pytest.param(uvloop.new_event_loop, id="uvloop"))

every_loop = pytest.mark.parametrize("loop_factory", LOOPS)


def left_open(
    work: Callable[[], Coroutine[Any, Any, None]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> list[str]:
    """
    Return what `work` has not closed: what the garbage collector complains of after the loop is
    closed, files that are still open, children that still run or were not reaped.
    """
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_warm_up())
    gc.collect()
    before, children, threads = _files(), _children(), threading.active_count()
    found: list[str] = []
    hook, sys.unraisablehook = (
        sys.unraisablehook,
        lambda problem: found.append(f"{problem.exc_value!r} in {problem.object!r}"),
    )
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.get_loop().set_exception_handler(lambda _, said: found.append(str(said)))
                runner.run(work())
            del runner
            for _ in range(3):
                gc.collect()
    finally:
        sys.unraisablehook = hook
    found += [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    found += [f"still open: {file}" for file in sorted(_files() - before)]
    found += [f"still a child: {child}" for child in sorted(_children() - children)]
    if threading.active_count() > threads:
        found.append(f"still running: {threading.enumerate()}")
    return found


async def _warm_up() -> None:
    """Have uvloop open its pipe for signals, which stays for the life of the process."""
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    await asyncio.sleep(0.01)


def _files() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            found.add(f"{entry.name} -> {entry.readlink()}")
    return found


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update((task / "children").read_text().split())
    return found
