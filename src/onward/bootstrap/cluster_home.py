"""Where runs live on a cluster: starting, steering and signalling them, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis

from onward.adapters.access.signals import TableLinks, TableSignals
from onward.adapters.access.tables import Tables
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.log import HostLog
from onward.adapters.postgres.archive import PostgresArchive
from onward.adapters.postgres.controls import PostgresControls
from onward.adapters.postgres.flow import PostgresFlow
from onward.adapters.postgres.registry import PostgresRegistry
from onward.adapters.postgres.store import PostgresStore
from onward.adapters.redis.coordinator import RedisCoordinator
from onward.adapters.redis.endings import RedisEndings
from onward.adapters.redis.inspection import RedisInspector
from onward.adapters.redis.timers import RedisTimers
from onward.bootstrap.languages import compile_source
from onward.errors import InputError
from onward.kernel.context import Payload
from onward.kernel.messages import Token, encode_message
from onward.kernel.program import Program
from onward.ports.archive import Archive
from onward.ports.bus import Bus
from onward.ports.clock import Chance, Clock
from onward.ports.journal import Definition, Execution
from onward.ports.node import Catalogue
from onward.ports.signals import Links, SignalLog
from onward.ports.workflows import Registry
from onward.runtime.control import Helmsman
from onward.runtime.family import Home
from onward.runtime.flowing import FlowControl
from onward.runtime.master import Starter
from onward.runtime.queues import EXECUTION, level_of
from onward.runtime.refusals import ConflictError
from onward.runtime.steering import PLAIN, How, Steering


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
