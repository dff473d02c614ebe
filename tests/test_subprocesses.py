"""Child processes leave nothing open, on whatever path they end, in either event loop."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from onward.subprocesses import Subprocess, uninterrupted
from support.leaks import every_loop, left_open

ALL = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE}


async def ends_by_itself():
    process = await Subprocess.start("cat", **ALL)
    process.stdin.write(b"hello")
    process.stdin.close()
    assert b"hello" == await process.stdout.read()
    assert 0 == await process.wait()
    assert 0 == await process.aclose()


async def is_killed():
    process = await Subprocess.start("sleep", "600", **ALL)
    assert -signal.SIGKILL == await process.aclose()
    assert -signal.SIGKILL == await process.aclose()


async def died_long_ago():
    process = await Subprocess.start("false", **ALL)
    await process.wait()
    await asyncio.sleep(0.05)
    assert 1 == await process.aclose()


async def has_no_pipes():
    process = await Subprocess.start("sleep", "600")
    await process.aclose()


async def writes_what_is_not_read():
    process = await Subprocess.start("yes", **ALL)
    await asyncio.sleep(0.05)
    await process.aclose()


async def leaves_a_child_that_holds_its_pipes():
    process = await Subprocess.start("sh", "-c", "sleep 5 & exit 3", **ALL)
    assert 3 == await process.wait()
    async with asyncio.timeout(2):
        assert 3 == await process.aclose()


async def has_not_read_what_it_was_given():
    process = await Subprocess.start("sh", "-c", "sleep 5 <&0 & exit 3", **ALL)
    process.stdin.write(b"x" * 10_000_000)
    await process.wait()
    async with asyncio.timeout(2):
        assert 3 == await process.aclose()


async def is_cancelled_while_it_starts():
    for turns in range(8):
        starting = asyncio.create_task(Subprocess.start("sleep", "600", **ALL))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        try:
            process = await starting
        except asyncio.CancelledError:
            continue
        await process.aclose()


async def is_cancelled_while_it_closes():
    for turns in range(1, 6):
        process = await Subprocess.start("sleep", "600", **ALL)
        closing = asyncio.create_task(process.aclose())
        for _ in range(turns):
            await asyncio.sleep(0)
            closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing


async def cannot_start():
    for name in ("/nothing/like/it", "nul\0"):
        with pytest.raises((OSError, ValueError)):
            await Subprocess.start(name, **ALL)
        starting = asyncio.create_task(Subprocess.start(name, **ALL))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises((asyncio.CancelledError, OSError, ValueError)):
            await starting


PATHS = [
    ends_by_itself,
    is_killed,
    died_long_ago,
    has_no_pipes,
    writes_what_is_not_read,
    leaves_a_child_that_holds_its_pipes,
    has_not_read_what_it_was_given,
    is_cancelled_while_it_starts,
    is_cancelled_while_it_closes,
    cannot_start,
]


@every_loop
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_nothing_is_left_open_of_a_process_that(path, loop_factory):
    assert [] == left_open(path, loop_factory)


@every_loop
def test_the_test_itself_finds_what_is_left_open(loop_factory):
    async def careless():
        Path(os.devnull).open()  # noqa: SIM115

    assert ["ResourceWarning: unclosed file"] == [
        said.partition(" <")[0] for said in left_open(careless, loop_factory)
    ]


async def test_what_cannot_be_interrupted_ends_before_the_cancellation_is_raised():
    seen = []

    async def work():
        await asyncio.sleep(0.02)
        seen.append("done")
        raise ValueError("not heard of")

    task = asyncio.create_task(uninterrupted(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ["done"] == seen


async def test_how_a_process_ends_is_known_as_soon_as_it_does():
    process = await Subprocess.start(sys.executable, "-c", "raise SystemExit(7)")
    assert process.returncode is None

    assert 7 == await process.wait()
    assert 7 == process.returncode
    await process.aclose()
