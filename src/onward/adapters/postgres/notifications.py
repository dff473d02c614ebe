"""Notices of runs with new events, from whichever master wrote them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg

from onward.adapters.postgres.connection import FAILURES
from onward.adapters.postgres.event_log import CHANNEL, MANY_RUNS
from onward.ports.nodes.outside import Log

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
CHECK_S = 5.0
"""How often to check that the connection still answers."""


async def listen(
    url: str, tell: Callable[[str], None], tell_all: Callable[[], None], log: Log
) -> None:
    """Call `tell` for each run with new events until cancelled; after a gap, `tell_all`."""

    def on_notice(_: Any, __: int, ___: str, notice: object) -> None:
        if notice == MANY_RUNS:
            tell_all()
            return
        for execution_id in str(notice).split(","):
            tell(execution_id)

    pause_s = FIRST_PAUSE_S
    while True:
        try:
            connection = await asyncpg.connect(
                url, timeout=10, server_settings={"application_name": "onward news"}
            )
            try:
                await connection.add_listener(CHANNEL, on_notice)
                tell_all()
                pause_s = FIRST_PAUSE_S
                while True:
                    await asyncio.sleep(CHECK_S)
                    await connection.execute("SELECT 1", timeout=CHECK_S)
            finally:
                connection.terminate()
        except FAILURES as problem:
            log.write("warning", f"live news waits for PostgreSQL: {type(problem).__name__}")
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
