"""Where runs live on a cluster: starting, steering and signalling them, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis

from weft.adapters.access.signals import TableLinks, TableSignals
from weft.adapters.access.tables import Tables
from weft.adapters.host.clock import HostChance, HostClock
from weft.adapters.host.log import HostLog
from weft.adapters.postgres.archive import PostgresArchive
from weft.adapters.postgres.controls import PostgresControls
from weft.adapters.postgres.flow import PostgresFlow
from weft.adapters.postgres.registry import PostgresRegistry
from weft.adapters.postgres.store import PostgresStore
from weft.adapters.redis.coordinator import RedisCoordinator
from weft.adapters.redis.endings import RedisEndings
from weft.adapters.redis.inspection import RedisInspector
from weft.adapters.redis.timers import RedisTimers
from weft.bootstrap.languages import compile_source
from weft.errors import InputError
from weft.kernel.context import Payload
from weft.kernel.messages import Token, encode_message
from weft.kernel.program import Program
from weft.ports.archive import Archive
from weft.ports.bus import Bus
from weft.ports.clock import Chance, Clock
from weft.ports.journal import Definition, Execution
from weft.ports.node import Catalogue
from weft.ports.signals import Links, SignalLog
from weft.ports.workflows import Registry
from weft.runtime.control import Helmsman
from weft.runtime.family import Home
from weft.runtime.flowing import FlowControl
from weft.runtime.master import Starter
from weft.runtime.queues import EXECUTION, level_of
from weft.runtime.refusals import ConflictError
from weft.runtime.steering import PLAIN, How, Steering


class Ground(Protocol):
    """The services, as far as runs need them."""

    @property
    def bus(self) -> Bus:
        """What carries messages."""
        ...

    redis: Redis
    store: PostgresStore

    @property
    def tables(self) -> Tables:
        """The tables of the store."""
        ...

    def starter(self) -> Starter:
        """Return what starts runs."""
        ...


class ClusterHome:
    """A `Home` on the three services."""

    def __init__(self, ground: Ground, catalogue: Catalogue) -> None:
        self._ground = ground
        store = ground.store
        self.archive: Archive = PostgresArchive(store.pool, store.place)
        self.registry: Registry = PostgresRegistry(store.pool, store.place)
        self.signals: SignalLog = TableSignals(ground.tables)
        self.links: Links = TableLinks(ground.tables)
        self.catalogue = catalogue
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()
        self.steering: Steering = Helmsman(
            ground.bus,
            RedisCoordinator(ground.redis),
            RedisTimers(ground.redis),
            RedisEndings(ground.redis),
            RedisInspector(ground.redis),
            store,
            PostgresControls(store.pool, store.place),
            PostgresFlow(store.pool, store.place),
            self.clock,
            store,
        )
        self.flow = FlowControl(
            self.steering.flow, self.archive, self.clock, HostLog(), self._begin
        )

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    async def start(
        self, definition: Definition, given: Any, execution_id: str, how: How = PLAIN
    ) -> None:
        """Start a run, or park it."""
        await self.flow.start(definition, given, execution_id, how)

    async def _begin(self, definition: Definition, given: Any, execution_id: str, how: How) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        starter = self._ground.starter()
        try:
            await starter.start(program, definition.source, given, execution_id, how)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise ConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled, and tell its running nodes."""
        return await self.steering.cancel(run, reason)

    async def send(self, run: Execution, token: Token, payloads: Sequence[Payload]) -> bool:
        """Send a token to a run."""
        at = self._ground
        for payload in payloads:
            await at.store.put(run.execution_id, payload)
        # Looked up now: whoever rebuilds the run sends what was kept before it had a new state.
        latest = await at.store.execution(run.execution_id) or run
        sent = msgspec.structs.replace(
            token, generation=latest.generation, publish_id=self.chance.publish_id()
        )
        await at.bus.publish(EXECUTION, encode_message(sent), priority=level_of(sent))
        return latest.ended_ms is None


_conforms: type[Home] = ClusterHome
