"""Working until a process has become too large: what leaks is given back by starting anew."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from onward.adapters.host.memory import resident_mb
from onward.runtime.cancelling import cancel

LOOK_S = 1.0


async def until_full(work: Coroutine[Any, Any, None], max_mb: int | None) -> int | None:
    """Do the work until it ends, or until this process is larger than `max_mb`: return its size."""
    working = asyncio.create_task(work)
    try:
        while True:
            done, _ = await asyncio.wait([working], timeout=None if max_mb is None else LOOK_S)
            if done:
                await working
                return None
            size_mb = resident_mb()
            if max_mb is not None and size_mb > max_mb:
                return size_mb
    finally:
        await cancel(working)
