"""Wiring the distributed engine: RabbitMQ carries, Redis coordinates, PostgreSQL remembers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from onward import __version__
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.commands import HostCommands
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.adapters.host.mail import HostMail
from onward.adapters.postgres.connection import PostgresDatabase
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.start_rules import PostgresStartRules
from onward.adapters.postgres.store import PostgresStore, open_store
from onward.adapters.rabbitmq.bus import RabbitBus
from onward.adapters.rabbitmq.health import inspect_broker
from onward.adapters.rabbitmq.quarantine_queue import open_quarantine_queue
from onward.adapters.rabbitmq.topology import QueueType, Topology
from onward.adapters.redis.connection import open_redis
from onward.adapters.redis.coordinator import RedisCoordinator
from onward.adapters.redis.holders import RedisHolders
from onward.adapters.redis.inspection import RedisInspector
from onward.adapters.redis.leases import RedisLeases
from onward.adapters.redis.liveness import RedisRunLiveness
from onward.adapters.redis.run_endings import RedisRunEndings
from onward.adapters.redis.timers import RedisTimers, due_timers
from onward.adapters.redis.workers import RedisWorkerRegistry
from onward.adapters.sql.event_sets import TableEventSets
from onward.adapters.sql.listeners import TableListeners
from onward.adapters.sql.run_decisions import TableRunDecisions
from onward.adapters.sql.signals import TableChildLinks, TableSignals
from onward.adapters.sql.triggers import TableTriggers
from onward.adapters.sql.workflows import TableWorkflows
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.languages import Languages, read_definition
from onward.bootstrap.security import open_signer, secrets_on
from onward.bootstrap.settings import HostSettings
from onward.errors import StorageError
from onward.ports.cluster.workers import WorkerInfo
from onward.ports.nodes.node import Catalogue
from onward.ports.telemetry import SLOTS
from onward.runtime.activity.node_links import NodeLinks
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.backend import QueueState
from onward.runtime.cluster.master import Master
from onward.runtime.cluster.message_hold import EARLY_ACK_S, LEASE_S
from onward.runtime.cluster.operations import ClusterOperations
from onward.runtime.cluster.payload_cache import PayloadCache
from onward.runtime.cluster.quarantine import QuarantineReview
from onward.runtime.cluster.reconciler import Patience, Reconciler
from onward.runtime.cluster.repair import Repairer
from onward.runtime.cluster.run_control import ClusterRunControl
from onward.runtime.cluster.run_host import ClusterRunHost
from onward.runtime.cluster.scheduler import Scheduler
from onward.runtime.cluster.services import WorkerServices
from onward.runtime.cluster.starter import RunAdmission, Starter
from onward.runtime.cluster.worker import QUEUES, Worker
from onward.runtime.control.retention import Retention
from onward.runtime.explain.explain import RunExplanation
from onward.runtime.instrumentation import UNWATCHED, Instrumentation
from onward.runtime.queues import QUARANTINE
from onward.runtime.run_control import RunControl
from onward.runtime.signals.child_runs import ChildRuns
from onward.runtime.start_gate import StartGate
from onward.runtime.token.programs import Programs
from onward.runtime.triggers.event_hub import HttpSink, LocalEventHub
from onward.runtime.triggers.events import EventTriggers

HEALTH_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings(HostSettings):
    """Where the services are, and how this process uses them."""

    rabbitmq_url: str
    redis_url: str
    postgres_url: str
    queue_type: QueueType = "classic"
    slots: int = 128
    queues: tuple[str, ...] = QUEUES
    """What a worker consumes."""
    name: str = ""
    """A worker's name; its host, its process and a few random characters unless given."""
    early_ack_s: float = EARLY_ACK_S
    """A node that runs longer is held by a lease instead of by its message."""
    lease_s: float = LEASE_S
    """How long such a node outlives a worker that is silent."""


class Cluster:
    """Connections to the three services, and the processes that stand on them."""

    def __init__(
        self,
        settings: ClusterSettings,
        bus: RabbitBus,
        redis: Redis,
        store: PostgresStore,
        http: HostHttp,
        catalogue: Catalogue,
        watch: Instrumentation = UNWATCHED,
    ) -> None:
        self.settings = settings
        self.bus = bus
        self.redis = redis
        self.store = store
        self.http = http
        self.tables = PostgresDatabase(store.pool, store.place)
        self.languages = Languages(catalogue)
        self._log = HostLog()
        self._watch = watch

    def worker(self) -> Worker:
        """Return a worker on these services."""
        me = worker_info(self.settings)
        activities = ActivityRunner(
            self.http,
            HostMail(),
            self._log,
            secrets_on(self.settings, self.tables, makes_key=False),
            node_logs=NodeLogBuffer(HostClock().now_ms),
            child_runs=self.child_runs(),
            hub=self.hub(),
            commands=HostCommands(self.settings.allowed),
            node_links=NodeLinks(
                open_signer(self.settings.key_file, makes_key=False),
                HostClock(),
                self.settings.public_url,
            ),
        )
        services = WorkerServices(
            bus=self._watch.bus(self.bus),
            coordinator=self._watch.coordinator(RedisCoordinator(self.redis, worker=me.name)),
            timers=RedisTimers(self.redis),
            leases=RedisLeases(self.redis),
            holdings=RedisHolders(self.redis),
            workers=RedisWorkerRegistry(self.redis),
            liveness=RedisRunLiveness(self.redis),
            endings=RedisRunEndings(self.redis),
            admission=self._admission(),
            payloads=PayloadCache(self.store),
            programs=Programs(self.store, self.languages.compile, read_definition),
            activities=activities,
            evaluators=activities.evaluators,
            callbacks=activities.callbacks,
            node_logs=activities.node_logs,
            clock=HostClock(),
            chance=HostChance(),
            log=self._log,
            instrumentation=self._watch,
        )
        self._watch.meter.set(SLOTS, self.settings.slots)
        return Worker(
            services,
            me,
            queues=self.settings.queues,
            early_ack_s=self.settings.early_ack_s,
            lease_s=self.settings.lease_s,
        )

    def scheduler(self) -> Scheduler:
        """Return a scheduler on these services."""
        bus = self._watch.bus(self.bus)
        return Scheduler(RedisTimers(self.redis), bus, HostClock(), self._watch.meter)

    def master(self) -> Master:
        """Return a master on these services."""
        return Master(
            self._watch.bus(self.bus),
            self.store,
            self._log,
            self._watch.meter,
            ended=self.child_runs().ended,
        )

    def run_control(self) -> ClusterRunControl:
        """Return what cancels, pauses and adjusts runs on these services."""
        return ClusterRunControl(
            self.bus,
            RedisCoordinator(self.redis),
            RedisTimers(self.redis),
            RedisRunEndings(self.redis),
            RedisInspector(self.redis),
            self.store,
            TableRunDecisions(self.tables),
            PostgresStartRules(self.tables),
            HostClock(),
            self.store,
        )

    def run_host(self, run_control: RunControl) -> ClusterRunHost:
        """Return the host of the runs on these services."""
        return ClusterRunHost(
            archive=PostgresRunQueries(self.tables),
            registry=TableWorkflows(self.tables),
            signals=TableSignals(self.tables),
            links=TableChildLinks(self.tables),
            starter=self.starter(),
            run_control=run_control,
            compile_definition=self.languages.compile,
            bus=self.bus,
            store=self.store,
            payloads=self.store,
            clock=HostClock(),
            chance=HostChance(),
        )

    def child_runs(self) -> ChildRuns:
        """Return what starts and follows child runs on these services."""
        run_control = self.run_control()
        host = self.run_host(run_control)
        gate = StartGate(run_control.flow, host, self._log)
        return ChildRuns(host, start=gate.start)

    def hub(self) -> LocalEventHub:
        """Return what delivers the events that runs emit on these services."""
        sink = self.settings.events_sink
        triggers = TableTriggers(self.tables)
        return LocalEventHub(
            TableListeners(self.tables),
            TableSignals(self.tables),
            self.run_host(self.run_control()).send,
            HostClock(),
            HttpSink(self.http, sink) if sink else None,
            EventTriggers(triggers, TableEventSets(self.tables), HostClock()),
        )

    def starter(self) -> Starter:
        """Return what starts runs on these services."""
        return Starter(
            self.bus,
            self.store,
            self.store,
            self._admission(),
            self.repairer(),
            TableRunDecisions(self.tables),
            HostClock(),
            HostChance(),
        )

    @asynccontextmanager
    async def quarantine(self) -> AsyncIterator[QuarantineReview]:
        """Open the quarantine; what nothing was decided about is back when the context is left."""
        async with open_quarantine_queue(self.settings.rabbitmq_url, QUARANTINE) as shelf:
            yield QuarantineReview(shelf, self.bus, self.store, RedisInspector(self.redis))

    def operations(self) -> ClusterOperations:
        """Return what operators ask of these services."""

        async def queue_states() -> list[QueueState]:
            settings = self.settings
            facts = await inspect_broker(settings.rabbitmq_url, Topology(settings.queue_type))
            return [QueueState(name=queue.name, messages=queue.messages) for queue in facts.queues]

        return ClusterOperations(
            open_quarantine=self.quarantine,
            inspector=RedisInspector(self.redis),
            store=self.store,
            worker_registry=RedisWorkerRegistry(self.redis),
            due_timers=partial(due_timers, self.redis),
            queue_states=queue_states,
            compile_definition=self.languages.compile,
            clock=HostClock(),
        )

    async def explain(self, execution_id: str) -> RunExplanation | None:
        """Return what a run waits for, or how it ended; None for an unknown run."""
        return await self.operations().explain(execution_id)

    def reconciler(self, patience: Patience | None = None) -> Reconciler:
        """Return what looks after silent runs on these services."""
        return Reconciler(
            self.store,
            RedisRunLiveness(self.redis),
            RedisWorkerRegistry(self.redis),
            self.bus,
            self.repairer(),
            self.bus.depth,
            HostClock(),
            self._log,
            patience,
        )

    def retention(self, keep_ms: int) -> Retention:
        """Return what drops runs that ended longer ago than this."""
        return Retention(self.store, HostClock(), self._log, keep_ms)

    def repairer(self) -> Repairer:
        """Return what rebuilds runs on these services."""
        return Repairer(
            self.store,
            self.store,
            TableRunDecisions(self.tables),
            TableSignals(self.tables),
            Programs(self.store, self.languages.compile, read_definition),
            RedisCoordinator(self.redis),
            RedisTimers(self.redis),
            self.bus,
            HostClock(),
            HostChance(),
        )

    def _admission(self) -> RunAdmission:
        return RunAdmission(self.store, RedisCoordinator(self.redis), HostClock())

    async def health(self) -> dict[str, str | None]:
        """Return why each service cannot be used now; None for one that can."""
        redis: Any = self.redis.ping()
        return {
            "rabbitmq": self.bus.unusable,
            "redis": await _trouble(redis),
            "postgres": await _trouble(self.store.definition("")),
        }

    def reconnects(self) -> dict[str, int]:
        """Return how often the connection to each service was found again."""
        return {"rabbitmq": self.bus.reconnects}


async def _trouble(asking: Awaitable[object]) -> str | None:
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            await asking
    except TimeoutError:
        return f"no answer within {HEALTH_TIMEOUT_S:g} s"
    except (StorageError, RedisError, OSError) as problem:
        return str(problem) or type(problem).__name__
    return None


def worker_info(settings: ClusterSettings) -> WorkerInfo:
    """Return how a worker with these settings registers itself."""
    host, pid, now_ms = socket.gethostname(), os.getpid(), HostClock().now_ms()
    return WorkerInfo(
        name=settings.name or f"{host}:{pid}:{HostChance().publish_id()[:4]}",
        host=host,
        pid=pid,
        version=__version__,
        slots=settings.slots,
        started_ms=now_ms,
        seen_ms=now_ms,
    )


@asynccontextmanager
async def open_cluster(
    settings: ClusterSettings, *, catalogue: Catalogue = builtin, watch: Instrumentation = UNWATCHED
) -> AsyncIterator[Cluster]:
    """Connect to the services, and disconnect when the context is left.

    Raises BusError or StorageError, one line with the remedy, for a service that is not there or
    will not do.
    """
    async with AsyncExitStack() as stack:
        topology = Topology(settings.queue_type)
        bus = RabbitBus(settings.rabbitmq_url, topology=topology, log=HostLog())
        stack.push_async_callback(bus.close)
        await bus.open()
        await bus.declare()
        redis = await open_redis(settings.redis_url, HostLog())
        stack.push_async_callback(redis.aclose)
        store = await open_store(settings.postgres_url)
        stack.push_async_callback(store.close)
        http = HostHttp()
        stack.push_async_callback(http.aclose)
        yield Cluster(settings, bus, redis, store, http, catalogue, watch)
