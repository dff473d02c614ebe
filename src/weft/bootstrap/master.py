"""Wiring the API on a cluster: everything it tells is in PostgreSQL, so any number may serve it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from weft.adapters.host.clock import HostChance, HostClock
from weft.adapters.host.log import HostLog
from weft.adapters.postgres.archive import PostgresArchive
from weft.adapters.postgres.listening import listen
from weft.adapters.postgres.registry import PostgresRegistry
from weft.adapters.rabbitmq.health import inspect_broker
from weft.adapters.rabbitmq.topology import Topology
from weft.adapters.redis.alarms import due_timers
from weft.adapters.redis.coordinator import RedisCoordinator
from weft.adapters.redis.presence import RedisRoster
from weft.adapters.redis.timers import RedisTimers
from weft.bootstrap.distributed import Cluster
from weft.bootstrap.documents import examine_document
from weft.bootstrap.embedded import compile_source
from weft.errors import InputError
from weft.kernel.program import Program
from weft.nodes.catalogue import builtin
from weft.ports.archive import Archive
from weft.ports.clock import Chance, Clock
from weft.ports.holding import Presence
from weft.ports.journal import Definition, Execution
from weft.ports.node import Catalogue
from weft.ports.workflows import Registry
from weft.runtime.backend import Alarm, Aside, Backend, Examined, QueueState
from weft.runtime.control import Canceller
from weft.runtime.explaining import Explanation
from weft.runtime.feed import Feed
from weft.runtime.refusals import ConflictError


class ClusterBackend:
    """A `Backend` on the three services."""

    kind: str = "distributed"

    def __init__(self, cluster: Cluster, catalogue: Catalogue) -> None:
        self._cluster = cluster
        store = cluster.store
        self.archive: Archive = PostgresArchive(store.pool, store.place)
        self.registry: Registry = PostgresRegistry(store.pool, store.place)
        self.catalogue = catalogue
        self.feed = Feed(self.archive)
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()

    async def examine(self, source: Any) -> Examined:
        """Look at a document."""
        return await asyncio.to_thread(examine_document, source, self.catalogue)

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    async def start(self, definition: Definition, given: Any, execution_id: str) -> None:
        """Start a run."""
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await self._cluster.starter().start(program, definition.source, given, execution_id)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise ConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled."""
        at = self._cluster
        canceller = Canceller(at.bus, RedisCoordinator(at.redis), RedisTimers(at.redis), self.clock)
        return await canceller.cancel(run, reason)

    async def explain(self, execution_id: str) -> Explanation | None:
        """Return what a run waits for."""
        return await self._cluster.explain(execution_id)

    async def quarantine(self) -> list[Aside]:
        """Return the messages that were put aside."""
        async with self._cluster.quarantine() as desk:
            found = await desk.everything()
        return [
            Aside(
                number=one.number,
                at=one.at,
                execution_id=one.execution_id,
                node_id=one.node,
                reason=one.reason,
                body=one.body,
            )
            for one in found
        ]

    async def timers(self, limit: int) -> list[Alarm]:
        """Return the timers that are due first."""
        found = await due_timers(self._cluster.redis, limit)
        return [Alarm(execution_id=run, timer_id=name, due_ms=due) for run, name, due in found]

    async def queues(self) -> list[QueueState]:
        """Return every queue of the broker that is weft's."""
        settings = self._cluster.settings
        facts = await inspect_broker(settings.rabbitmq_url, Topology(settings.queue_type))
        return [QueueState(name=one.name, messages=one.messages) for one in facts.queues]

    async def workers(self) -> list[Presence]:
        """Return every worker that has been heard of."""
        return await RedisRoster(self._cluster.redis).workers()

    async def check(self) -> None:
        """Return when the store answers."""
        await self.archive.last_event("")


@asynccontextmanager
async def open_cluster_backend(
    cluster: Cluster, *, catalogue: Catalogue = builtin
) -> AsyncIterator[ClusterBackend]:
    """Open the API's view of a cluster, which hears of news until the context is left."""
    backend = ClusterBackend(cluster, catalogue)
    feed = backend.feed
    hearing = asyncio.create_task(
        listen(cluster.settings.postgres_url, feed.tell, feed.tell_all, HostLog())
    )
    try:
        yield backend
    finally:
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing


_conforms: type[Backend] = ClusterBackend
