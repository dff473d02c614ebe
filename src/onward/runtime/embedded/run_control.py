"""Run control on the embedded engine: cancel, expire, pause, resume and adjust."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, closing

from onward.errors import StorageError
from onward.kernel.context import Ref
from onward.kernel.effects import Pause
from onward.kernel.records import RunRecord, VisitRecord
from onward.ports.clock import Clock
from onward.ports.cluster.inspection import Inspector
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.storage.run_queries import History
from onward.ports.storage.start_rules import StartRules
from onward.runtime.embedded.engine import EmbeddedEngine
from onward.runtime.embedded.start import START
from onward.runtime.run_control import RunControl, SplitChange, adjustment_of, concerns
from onward.runtime.token.statuses import cancellation_of, expiry_of


class EmbeddedRunControl:
    """`RunControl` of the runs of an engine in this process."""

    def __init__(
        self,
        open_inspector: Callable[[], AbstractContextManager[Inspector]],
        open_history: Callable[[], History],
        controls: RunDecisions,
        flow: StartRules,
        clock: Clock,
    ) -> None:
        self._open_inspector = open_inspector
        self._open_history = open_history
        self._clock = clock
        self._engine: EmbeddedEngine | None = None
        self.controls = controls
        self.flow = flow

    def attach(self, engine: EmbeddedEngine) -> None:
        """Control the runs of an engine from now on."""
        self._engine = engine

    async def cancel(self, run: RunRecord, reason: str) -> bool:
        if run.status == "parked":
            now_ms = self._clock.now_ms()
            message = cancellation_of(run, reason, now_ms)
            if await self.flow.drop(message, now_ms):
                return True
        return self._engine is not None and await self._engine.cancel(run.execution_id, reason)

    async def expire(self, run: RunRecord) -> bool:
        if self._engine is None:
            return False
        return await self._engine.end(expiry_of(run, self._clock.now_ms()))

    async def pause(self, run: RunRecord) -> bool:
        await self.controls.pause(run.execution_id, self._clock.now_ms())
        return await self._set_paused(run, on=True)

    async def resume(self, run: RunRecord) -> bool:
        await self.controls.pause(run.execution_id, None)
        return await self._set_paused(run, on=False)

    async def _set_paused(self, run: RunRecord, *, on: bool) -> bool:
        if self._engine is None:
            return False
        done: bool | None = await self._engine.ask(run.execution_id, Pause(on=on))
        return bool(done)

    async def adjust(self, run: RunRecord, change: SplitChange) -> int:
        if self._engine is None:
            return 0
        with self._open_inspector() as inspector:
            found = (await inspector.look(run.execution_id)).barriers
        changed = 0
        for barrier in found:
            if concerns(barrier, change):
                done: bool | None = await self._engine.ask(
                    run.execution_id, adjustment_of(barrier, change)
                )
                changed += bool(done)
        return changed

    async def start_of(self, execution_id: str) -> bytes:
        with closing(self._open_history()) as history:
            try:
                return history.payload(execution_id, Ref(START, 0))
            except StorageError:
                return b""

    async def history(self, execution_id: str) -> list[VisitRecord]:
        return await asyncio.to_thread(self._read_history, execution_id)

    def _read_history(self, execution_id: str) -> list[VisitRecord]:
        with closing(self._open_history()) as history:
            return list(history.node_runs(execution_id))


_conforms: type[RunControl] = EmbeddedRunControl
