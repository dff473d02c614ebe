"""Wiring the API on a cluster: what it answers is in PostgreSQL, so any number may serve it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from onward.adapters.host.clock import HostChance
from onward.adapters.host.log import HostLog
from onward.adapters.postgres.notifications import listen
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.triggers import TableTriggers
from onward.bootstrap.accounts import access_on
from onward.bootstrap.cluster import Cluster
from onward.bootstrap.security import open_sealer, open_signer
from onward.bootstrap.telemetry import publish_lifecycle
from onward.runtime.backend import Backend
from onward.runtime.cluster.run_control import LATE_MS
from onward.runtime.control.run_limits import RunLimits
from onward.runtime.feed import Feed
from onward.runtime.start_gate import StartGate
from onward.runtime.tasks import cancel, together
from onward.runtime.triggers.clock import TriggerClock
from onward.runtime.triggers.event_hub import LocalEventHub
from onward.runtime.triggers.secrets import seal_secrets
from onward.runtime.workflows.document_schedules import DocumentSchedules


def backend_on(cluster: Cluster) -> Backend:
    """Return what the API stands on; its feed is notified by `open_cluster_backend` alone."""
    tables, languages = cluster.tables, cluster.languages
    key_file = cluster.settings.key_file
    run_control = cluster.run_control()
    host = cluster.run_host(run_control)
    return Backend(
        kind="distributed",
        host=host,
        gate=StartGate(run_control.flow, host, HostLog()),
        operations=cluster.operations(),
        steering=run_control,
        triggers=TableTriggers(tables),
        gatherings=TableEventSets(tables),
        access=access_on(tables, cluster.http, key_file, makes_key=False),
        hub=LocalEventHub(TableListeners(tables), host.signals, host.send, host.clock),
        signer=open_signer(key_file, makes_key=False),
        sealer=open_sealer(key_file, makes_key=False),
        catalogue=languages.catalogue,
        feed=Feed(host.archive),
        chance=HostChance(),
        check_document=languages.check_document,
        schedule_in=languages.schedule_in,
    )


@asynccontextmanager
async def open_cluster_backend(cluster: Cluster) -> AsyncIterator[Backend]:
    """Open the API's view of a cluster, whose feed is notified until the context is left."""
    backend = backend_on(cluster)
    feed = backend.feed
    listening = asyncio.create_task(
        listen(cluster.settings.postgres_url, feed.notify, feed.notify_all, HostLog())
    )
    try:
        yield backend
    finally:
        await cancel(listening)


async def fire_triggers(cluster: Cluster) -> None:
    """Fire what is due on a cluster until cancelled; any number of processes may do it."""
    backend, log = backend_on(cluster), HostLog()
    await seal_secrets(backend.triggers, backend.sealer, log)
    await together(TriggerClock(backend, log).run(), DocumentSchedules(backend).run(log))


async def publish_cluster_lifecycle(cluster: Cluster, target: str) -> None:
    """Publish the lifecycle of runs on a cluster until cancelled; one of many processes does it."""
    archive = PostgresRunQueries(cluster.tables)
    await publish_lifecycle(target, archive, cluster.tables, cluster.http, late_ms=LATE_MS)


async def guard_runs(cluster: Cluster) -> None:
    """Enforce the limits of runs on a cluster until cancelled; any number may do it."""
    await RunLimits(backend_on(cluster), HostLog()).run()
