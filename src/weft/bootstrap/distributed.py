"""Wiring the distributed engine: RabbitMQ carries, Redis coordinates, PostgreSQL remembers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from redis.asyncio import Redis

from weft.adapters.host.clock import HostChance, HostClock
from weft.adapters.host.http import HostHttp
from weft.adapters.host.log import HostLog
from weft.adapters.host.mail import HostMail
from weft.adapters.host.secrets import open_secrets
from weft.adapters.postgres.opening import open_store
from weft.adapters.postgres.store import PostgresStore
from weft.adapters.rabbitmq.bus import RabbitBus
from weft.adapters.rabbitmq.shelf import open_shelf
from weft.adapters.rabbitmq.topology import QueueType, Topology
from weft.adapters.redis.coordinator import RedisCoordinator
from weft.adapters.redis.inspection import RedisInspector
from weft.adapters.redis.opening import open_redis
from weft.adapters.redis.timers import RedisTimers
from weft.bootstrap.embedded import compile_source
from weft.bootstrap.explaining import explain_on_cluster
from weft.kernel.ids import fingerprint
from weft.kernel.program import Program
from weft.languages.graph.document import parse_definition
from weft.nodes.catalogue import builtin
from weft.ports.journal import Definition
from weft.ports.node import Catalogue
from weft.runtime.activities import Activities
from weft.runtime.explaining import Explanation
from weft.runtime.master import Master, Starter
from weft.runtime.payload_cache import PayloadCache
from weft.runtime.programs import Programs
from weft.runtime.queues import QUARANTINE
from weft.runtime.releasing import QuarantineDesk
from weft.runtime.scheduler import Scheduler
from weft.runtime.services import Services
from weft.runtime.worker import Worker


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where the services are, and how this process uses them."""

    rabbitmq_url: str
    redis_url: str
    postgres_url: str
    queue_type: QueueType = "classic"
    slots: int = 64
    env_file: Path | None = None
    credential_store: Path | None = None
    key_file: Path | None = None


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
    ) -> None:
        self.settings = settings
        self.bus = bus
        self.redis = redis
        self.store = store
        self._http = http
        self._catalogue = catalogue
        self._log = HostLog()

    def worker(self) -> Worker:
        """Return a worker on these services."""
        secrets = open_secrets(
            os.environ,
            file=self.settings.env_file,
            store=self.settings.credential_store,
            key_file=self.settings.key_file,
        )
        services = Services(
            bus=self.bus,
            coordinator=RedisCoordinator(self.redis),
            timers=RedisTimers(self.redis),
            payloads=PayloadCache(self.store),
            programs=Programs(self.store, self._compile, read_definition),
            activities=Activities(self._http, HostMail(), self._log, secrets),
            clock=HostClock(),
            chance=HostChance(),
            log=self._log,
        )
        return Worker(services, slots=self.settings.slots)

    def scheduler(self) -> Scheduler:
        """Return a scheduler on these services."""
        return Scheduler(RedisTimers(self.redis), self.bus, HostClock())

    def master(self) -> Master:
        """Return a master on these services."""
        return Master(self.bus, self.store, self._log)

    def starter(self) -> Starter:
        """Return what starts runs on these services."""
        return Starter(self.bus, self.store, self.store, HostClock(), HostChance())

    @asynccontextmanager
    async def quarantine(self) -> AsyncIterator[QuarantineDesk]:
        """Open the quarantine; what nothing was decided about is back when the context is left."""
        async with open_shelf(self.settings.rabbitmq_url, QUARANTINE) as shelf:
            yield QuarantineDesk(shelf, self.bus, self.store, RedisInspector(self.redis))

    async def explain(self, execution_id: str) -> Explanation | None:
        """Return what a run waits for, or how it ended; None for a run that nobody knows."""
        async with self.quarantine() as desk:
            return await explain_on_cluster(
                execution_id, self.store, RedisInspector(self.redis), desk, self._catalogue
            )

    def _compile(self, definition: Definition) -> Program:
        return compile_source(definition.source, self._catalogue)


def read_definition(data: bytes, workflow_id: str) -> Definition:
    """Return the definition inside a message as it is stored; DefinitionError if it is none."""
    document = parse_definition(msgspec.json.decode(data), default_id=workflow_id)
    return Definition(fingerprint(document.source), document.id, document.source)


@asynccontextmanager
async def open_cluster(
    settings: ClusterSettings, *, catalogue: Catalogue = builtin
) -> AsyncIterator[Cluster]:
    """Connect to the services, and disconnect when the context is left.

    Raises BusError or StorageError, one line with the remedy, for a service that is not there or
    will not do.
    """
    async with AsyncExitStack() as stack:
        topology = Topology(settings.queue_type)
        bus = RabbitBus(settings.rabbitmq_url, topology=topology, log=HostLog())
        await bus.open()
        stack.push_async_callback(bus.close)
        await bus.declare()
        redis = await open_redis(settings.redis_url, HostLog())
        stack.push_async_callback(redis.aclose)
        store = await open_store(settings.postgres_url)
        stack.push_async_callback(store.close)
        http = HostHttp()
        stack.push_async_callback(http.aclose)
        yield Cluster(settings, bus, redis, store, http, catalogue)
