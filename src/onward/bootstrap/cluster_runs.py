"""Where runs live on a cluster: starting, steering and signalling them, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from redis.asyncio import Redis

from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.log import HostLog
from onward.adapters.postgres.run_queries import PostgresRunQueries
from onward.adapters.postgres.start_rules import PostgresStartRules
from onward.adapters.postgres.store import PostgresStore
from onward.adapters.redis.coordinator import RedisCoordinator
from onward.adapters.redis.inspection import RedisInspector
from onward.adapters.redis.run_endings import RedisRunEndings
from onward.adapters.redis.timers import RedisTimers
from onward.adapters.sql.database import SqlDatabase
from onward.adapters.sql.run_decisions import TableRunDecisions
from onward.adapters.sql.signals import TableChildLinks, TableSignals
from onward.adapters.sql.workflows import TableWorkflows
from onward.bootstrap.languages import compile_source
from onward.errors import InputError, StateConflictError
from onward.kernel.context import Payload
from onward.kernel.messages import Token, encode_message
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus
from onward.ports.nodes.node import Catalogue
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.cluster.run_control import ClusterRunControl
from onward.runtime.cluster.starter import Starter
from onward.runtime.control.start_rules import StartGate
from onward.runtime.queues import EXECUTION, level_of
from onward.runtime.run_control import RunControl
from onward.runtime.signals.child_runs import RunHost
from onward.runtime.token.start import DEFAULT_START, StartOptions


class ClusterServices(Protocol):
    """The services, as far as runs need them."""

    @property
    def bus(self) -> Bus:
        """What carries messages."""
        ...

    redis: Redis
    store: PostgresStore

    @property
    def tables(self) -> SqlDatabase:
        """The tables of the store."""
        ...

    def starter(self) -> Starter:
        """Return what starts runs."""
        ...


class ClusterRunHost:
    """A `Home` on the three services."""

    def __init__(self, ground: ClusterServices, catalogue: Catalogue) -> None:
        self._ground = ground
        store = ground.store
        self.archive: RunQueries = PostgresRunQueries(ground.tables)
        self.registry: WorkflowRegistry = TableWorkflows(ground.tables)
        self.signals: SignalLog = TableSignals(ground.tables)
        self.links: ChildLinks = TableChildLinks(ground.tables)
        self.catalogue = catalogue
        self.clock: Clock = HostClock()
        self.chance: Chance = HostChance()
        self.steering: RunControl = ClusterRunControl(
            ground.bus,
            RedisCoordinator(ground.redis),
            RedisTimers(ground.redis),
            RedisRunEndings(ground.redis),
            RedisInspector(ground.redis),
            store,
            TableRunDecisions(ground.tables),
            PostgresStartRules(ground.tables),
            self.clock,
            store,
        )
        self.flow = StartGate(self.steering.flow, self.archive, self.clock, HostLog(), self._begin)

    def compile(self, definition: Definition) -> Program:
        """Return the program of a definition."""
        return compile_source(definition.source, self.catalogue)

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        """Start a run, or park it."""
        await self.flow.start(definition, given, execution_id, how)

    async def _begin(
        self, definition: Definition, given: Any, execution_id: str, how: StartOptions
    ) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        starter = self._ground.starter()
        try:
            await starter.start(program, definition.source, given, execution_id, how)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise StateConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        """End a run as cancelled, and tell its running nodes."""
        return await self.steering.cancel(run, reason)

    async def send(self, run: RunRecord, token: Token, payloads: Sequence[Payload]) -> bool:
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


_conforms: type[RunHost] = ClusterRunHost
