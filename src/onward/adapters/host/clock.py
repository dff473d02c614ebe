"""The clock and the randomness of the machine: the only module that reads either."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from contextlib import suppress

from onward.ports.clock import Chance, Clock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class HostClock:
    """The machine's wall clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        delay_s = None if until_ms is None else max(0, until_ms - self.now_ms()) / 1000
        with suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await event.wait()


class HostChance:
    """The machine's randomness."""

    def execution_id(self, now_ms: int) -> str:
        """Return `run_` and 26 characters that sort by time (48 bits) and do not collide (80)."""
        number = (now_ms << 80) | secrets.randbits(80)
        digits = []
        for _ in range(26):
            number, digit = divmod(number, 32)
            digits.append(_ALPHABET[digit])
        return "run_" + "".join(reversed(digits))

    def publish_id(self) -> str:
        """Return 80 random bits."""
        return secrets.token_hex(10)

    def dice(self) -> float:
        return random.random()


_clock: type[Clock] = HostClock
_chance: type[Chance] = HostChance
