"""The worker of a cluster: one at a time, with connections of its own to the broker."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

from conformance.traffic import MortalBus, Traffic
from onward.adapters.rabbitmq.bus import RabbitBus
from onward.bootstrap.cluster import Cluster
from onward.ports.nodes.commands import CommandKind
from onward.runtime.cluster.worker import Worker
from onward.runtime.tasks import cancel
from runtime.cluster.lab import Quiet

GRACE_S = 10


class Crew:
    """Has one worker on a cluster, another when it dies, and another when it is to do other things.

    A worker that dies is stopped in the middle of what it does, and its connections are cut: the
    broker then delivers again what it had not acknowledged.
    """

    def __init__(self, cluster: Cluster, traffic: Traffic) -> None:
        self._deaths = 0
        self._cluster = cluster
        self._traffic = traffic
        self._allowed: frozenset[CommandKind] = frozenset()
        self._bus: MortalBus | None = None
        self._worker: Worker | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether the worker has something to do, or there is none."""
        return self._worker is None or bool(self._worker._tasks)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Have a worker until the context is left."""
        await self._hire()
        try:
            yield
        finally:
            await self._dismiss()

    async def allow(self, kinds: Collection[CommandKind]) -> None:
        """Have a worker that may start these kinds of processes, and no others."""
        if self._allowed != frozenset(kinds):
            self._allowed = frozenset(kinds)
            await self._dismiss()
            await self._hire()

    async def call_outside(self) -> None:
        """Go on with a call that the worker makes, unless it dies before or after it."""
        assert self._bus is not None
        await self._bus.moment()

    @asynccontextmanager
    async def dying(self) -> AsyncIterator[None]:
        """Let the worker die again and again until the context is left."""
        deaths, redelivered, over = self._deaths, self._traffic.redelivered, asyncio.Event()
        async with asyncio.TaskGroup() as group:  # a crew that fails fails the scenario
            group.create_task(self._die(over))
            try:
                yield
            finally:
                over.set()
        assert self._deaths > deaths + 1, "it was never in danger"
        assert self._traffic.redelivered > redelivered, "nothing was delivered again"

    async def _die(self, over: asyncio.Event) -> None:
        """Each worker lives a little longer than the one before, so that all the same all ends."""
        for moments in count(1):
            assert self._bus is not None
            self._bus.die_after(moments)
            waits = [asyncio.create_task(one.wait()) for one in (over, self._bus.dead)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            await cancel(*waits)
            self._bus.die_after(None)
            if self._bus.dead.is_set():
                self._deaths += 1
                await self._bury()
                await self._hire()
            if over.is_set():
                return

    async def _hire(self) -> None:
        settings = replace(self._cluster.settings, allowed=tuple(self._allowed))
        bus = RabbitBus(settings.rabbitmq_url, log=Quiet())
        await bus.open()
        cluster = copy.copy(self._cluster)
        cluster.settings = settings
        self._bus = MortalBus(bus, self._traffic)
        cluster.bus = self._bus  # type: ignore[assignment]  # it passes everything on
        self._worker = cluster.worker()
        self._running = asyncio.create_task(self._worker.run())

    async def _dismiss(self) -> None:
        """Let the worker finish, and go."""
        worker, running, bus = self._worker, self._running, self._bus
        assert worker is not None
        assert running is not None
        assert bus is not None
        self._worker = None
        assert not running.done(), running
        await cancel(running)
        await worker.drain(GRACE_S)
        await bus.bus.close()

    async def _bury(self) -> None:
        worker, running, bus = self._worker, self._running, self._bus
        assert worker is not None
        assert running is not None
        assert bus is not None
        self._worker = None
        await bus.cut()
        await cancel(running, *worker._tasks, *worker._outbox._deliveries)
        await bus.close()
        await worker._services.activities.aclose()  # a process that dies takes these with it
