"""The host of runs on a cluster: any process that reaches the three services can be one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from onward.errors import InputError, StateConflictError
from onward.kernel.context import Payload
from onward.kernel.messages import Token, encode_message
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus
from onward.ports.storage.history_store import HistoryStore
from onward.ports.storage.payloads import Payloads
from onward.ports.storage.run_queries import RunQueries
from onward.ports.storage.signals import ChildLinks, SignalLog
from onward.ports.storage.workflows import WorkflowRegistry
from onward.runtime.cluster.starter import Starter
from onward.runtime.queues import EXECUTION, level_of
from onward.runtime.run_control import RunControl
from onward.runtime.signals.run_host import RunHost
from onward.runtime.token.start import DEFAULT_START, StartOptions


@dataclass(kw_only=True)
class ClusterRunHost:
    """A `RunHost` on the three services."""

    archive: RunQueries
    registry: WorkflowRegistry
    signals: SignalLog
    links: ChildLinks
    starter: Starter
    run_control: RunControl
    compile_definition: Callable[[Definition], Program]
    bus: Bus
    store: HistoryStore
    payloads: Payloads
    clock: Clock
    chance: Chance

    def compile(self, definition: Definition) -> Program:
        return self.compile_definition(definition)

    async def start(
        self,
        definition: Definition,
        given: Any,
        execution_id: str,
        how: StartOptions = DEFAULT_START,
    ) -> None:
        program = await asyncio.to_thread(self.compile, definition)
        try:
            await self.starter.start(program, definition.source, given, execution_id, how)
        except InputError as problem:
            if await self.archive.run(execution_id) is None:
                raise
            raise StateConflictError(str(problem), "RUN_EXISTS") from None

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        return await self.run_control.cancel(run, reason)

    async def send(self, token: Token, payloads: Sequence[Payload]) -> bool:
        for payload in payloads:
            await self.payloads.put(token.execution_id, payload)
        # Looked up now: the run may have been rebuilt since the token was made, and a rebuilt run
        # has a new state, which is sent the signals that were stored before it.
        latest = await self.store.execution(token.execution_id)
        published = msgspec.structs.replace(
            token,
            publish_id=self.chance.publish_id(),
            generation=token.generation if latest is None else latest.generation,
        )
        await self.bus.publish(EXECUTION, encode_message(published), priority=level_of(published))
        return latest is None or latest.ended_ms is None


_conforms: type[RunHost] = ClusterRunHost
