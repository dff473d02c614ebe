"""Wiring the API on a cluster: everything it tells is in PostgreSQL, so any number may serve it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any

from onward.adapters.host.log import HostLog
from onward.adapters.postgres.notifications import listen
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.rabbitmq.health import inspect_broker
from onward.adapters.rabbitmq.topology import Topology
from onward.adapters.redis.timers import due_timers
from onward.adapters.redis.workers import RedisWorkerRegistry
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.triggers import TableTriggers
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.cluster import Cluster
from onward.bootstrap.cluster_runs import ClusterRunHost
from onward.bootstrap.languages import examine_document, schedule_in
from onward.bootstrap.security import access_on, seal_secrets
from onward.bootstrap.telemetry import tell_lifecycle
from onward.kernel.records import Definition
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.nodes.events import EventHub
from onward.ports.nodes.node import Catalogue
from onward.ports.security.crypto import Sealer, Signer
from onward.ports.storage.event_sets import EventSets
from onward.ports.storage.triggers import Settings, Triggers
from onward.runtime.backend import (
    Backend,
    CheckedDocument,
    PendingTimer,
    QuarantineEntry,
    QueueState,
)
from onward.runtime.cluster.quarantine import NumberedMessage
from onward.runtime.cluster.run_control import LATE_MS
from onward.runtime.control.run_limits import RunLimits
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.feed import Feed
from onward.runtime.tasks import together
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.workflows.document_schedules import DocumentSchedules


class ClusterBackend(ClusterRunHost):
    """A `Backend` on the three services."""

    kind: str = "distributed"

    def __init__(self, cluster: Cluster, catalogue: Catalogue) -> None:
        super().__init__(cluster, catalogue)
        self._cluster = cluster
        self.triggers: Triggers = TableTriggers(cluster.tables)
        self.gatherings: EventSets = TableEventSets(cluster.tables)
        self.hub: EventHub = cluster.hub_of_runs()
        self.access = access_on(
            cluster.tables, cluster.http, cluster.settings.key_file, makes_key=False
        )
        self.signer: Signer = cluster.settings.signer()
        self.sealer: Sealer = cluster.settings.sealer()
        self.feed = Feed(self.archive)

    async def examine(self, source: Any) -> CheckedDocument:
        """Look at a document."""
        return await asyncio.to_thread(examine_document, source, self.catalogue)

    def schedule_in(self, definition: Definition) -> Settings | None:
        """Return what starts runs of a definition by itself."""
        return schedule_in(definition)

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run waits for."""
        run = await self.archive.run(execution_id)
        if run is not None and run.status == "parked":
            return await self.flow.explain(run)
        return await self._cluster.explain(execution_id)

    async def quarantine(self) -> list[QuarantineEntry]:
        """Return the messages that were put aside."""
        async with self._cluster.quarantine() as desk:
            return [_aside(one) for one in await desk.list_all()]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        """Send messages to the workers once more."""
        async with self._cluster.quarantine() as desk:
            return [_aside(one) for one in await desk.release(numbers, force=force)]

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        """Throw messages away."""
        async with self._cluster.quarantine() as desk:
            return [_aside(one) for one in await desk.discard(numbers)]

    async def timers(self, limit: int) -> list[PendingTimer]:
        """Return the timers that are due first."""
        found = await due_timers(self._cluster.redis, limit)
        return [
            PendingTimer(execution_id=run, timer_id=name, due_ms=due) for run, name, due in found
        ]

    async def queues(self) -> list[QueueState]:
        """Return every queue of the broker that is onward's."""
        settings = self._cluster.settings
        facts = await inspect_broker(settings.rabbitmq_url, Topology(settings.queue_type))
        return [QueueState(name=queue.name, messages=queue.messages) for queue in facts.queues]

    async def workers(self) -> list[WorkerInfo]:
        """Return every worker that has been heard of."""
        return await RedisWorkerRegistry(self._cluster.redis).workers()

    async def check(self) -> None:
        """Return when the store answers."""
        await self.archive.last_event("")


def _aside(one: NumberedMessage) -> QuarantineEntry:
    return QuarantineEntry(
        number=one.number,
        at=one.at,
        execution_id=one.execution_id,
        node_id=one.node,
        reason=one.reason,
        body=one.body,
    )


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


async def fire_triggers(cluster: Cluster, *, catalogue: Catalogue = builtin) -> None:
    """Fire what is due on a cluster until cancelled; any number of processes may do it."""
    backend, log = ClusterBackend(cluster, catalogue), HostLog()
    await seal_secrets(backend.triggers, backend.sealer, log)
    await together(TriggerClock(backend, log).run(), DocumentSchedules(backend).run(log))


async def tell_what_happens(cluster: Cluster, target: str) -> None:
    """Tell a target of the lifecycle of runs on a cluster, until cancelled; one of many does it."""
    archive = PostgresRunQueries(cluster.tables)
    await tell_lifecycle(target, archive, cluster.tables, cluster.http, late_ms=LATE_MS)


async def guard_runs(cluster: Cluster, *, catalogue: Catalogue = builtin) -> None:
    """Look after the limits of runs on a cluster until cancelled; any number may do it."""
    backend = ClusterBackend(cluster, catalogue)
    await RunLimits(backend.steering, backend.flow, backend.archive, backend.clock, HostLog()).run()


_conforms: type[Backend] = ClusterBackend
