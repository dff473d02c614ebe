"""Hearing which runs have news, from whichever master wrote it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg

from onward.adapters.postgres.connection import FAILURES
from onward.adapters.postgres.event_log import CHANNEL, MANY
from onward.ports.nodes.outside import Log

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
LOOK_S = 5.0


async def listen(
    url: str, tell: Callable[[str], None], tell_all: Callable[[], None], log: Log
) -> None:
    """Tell of each run that has news until cancelled; after a gap, that any may have some."""

    def heard(_: Any, __: int, ___: str, word: object) -> None:
        if word == MANY:
            tell_all()
            return
        for run in str(word).split(","):
            tell(run)

    pause_s = FIRST_PAUSE_S
    while True:
        try:
            connection = await asyncpg.connect(
                url, timeout=10, server_settings={"application_name": "onward news"}
            )
            try:
                await connection.add_listener(CHANNEL, heard)
                tell_all()
                pause_s = FIRST_PAUSE_S
                while True:
                    await asyncio.sleep(LOOK_S)
                    await connection.execute("SELECT 1", timeout=LOOK_S)
            finally:
                connection.terminate()
        except FAILURES as problem:
            log.write("warning", f"live news waits for PostgreSQL: {type(problem).__name__}")
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
