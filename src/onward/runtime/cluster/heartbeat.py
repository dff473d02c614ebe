"""Saying that a worker is there, for as long as it is."""

from __future__ import annotations

import asyncio

import msgspec

from onward.ports.clock import Clock
from onward.ports.cluster.workers import WorkerInfo, WorkerRegistry
from onward.ports.nodes.outside import Log

BEAT_S = 10.0


class Heartbeat:
    """One worker on the roster."""

    def __init__(
        self, roster: WorkerRegistry, presence: WorkerInfo, clock: Clock, log: Log
    ) -> None:
        self._roster = roster
        self._presence = presence
        self._clock = clock
        self._log = log

    async def keep(self) -> None:
        """Say so again and again until cancelled. A roster that is away is no reason to stop."""
        stop = asyncio.Event()
        while True:
            now_ms = self._clock.now_ms()
            try:
                await self._roster.announce(msgspec.structs.replace(self._presence, seen_ms=now_ms))
            except Exception as problem:
                self._log.write("warning", f"the roster of workers was not reached: {problem}")
            await self._clock.wait(stop, now_ms + round(BEAT_S * 1000))

    async def leave(self) -> None:
        """Strike the worker off."""
        try:
            await self._roster.leave(self._presence.name)
        except Exception as problem:
            self._log.write("warning", f"the roster of workers was not reached: {problem}")
