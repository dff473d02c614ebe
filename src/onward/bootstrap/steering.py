"""Steering runs of the embedded engine, and beginning them the way somebody wants."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from onward.adapters.embedded.history import SqliteHistory
from onward.adapters.embedded.inspection import SqliteInspector
from onward.errors import StorageError
from onward.kernel.context import Ref
from onward.kernel.effects import Pause
from onward.kernel.program import Program
from onward.ports.clock import Clock
from onward.ports.controls import Controls
from onward.ports.flow import Flow
from onward.ports.journal import Execution, NodeRun
from onward.runtime.beginning import START
from onward.runtime.control import adjustment, meant
from onward.runtime.engine import Engine
from onward.runtime.reporting import cancelled, expired
from onward.runtime.steering import PLAIN, Change, How, Steering, control_of


class EmbeddedSteering:
    """`Steering` of the runs of an engine in this process."""

    def __init__(self, database: Path, controls: Controls, flow: Flow, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._engine: Engine | None = None
        self.controls = controls
        self.flow = flow

    def serve_with(self, engine: Engine) -> None:
        """Steer runs of an engine from now on."""
        self._engine = engine

    async def cancel(self, run: Execution, reason: str) -> bool:
        """End a run as cancelled, and tell its nodes."""
        if run.status == "parked":
            now_ms = self._clock.now_ms()
            message = cancelled(run.workflow_id, run.execution_id, run.started_ms, now_ms, reason)
            if await self.flow.drop(message, now_ms):
                return True
        return self._engine is not None and await self._engine.cancel(run.execution_id, reason)

    async def expire(self, run: Execution) -> bool:
        """End a run that took too long as failed."""
        if self._engine is None:
            return False
        now_ms = self._clock.now_ms()
        return await self._engine.end(
            expired(run.workflow_id, run.execution_id, run.started_ms, now_ms)
        )

    async def pause(self, run: Execution) -> bool:
        """Let no node of a run begin."""
        await self.controls.pause(run.execution_id, self._clock.now_ms())
        return await self._paused(run, on=True)

    async def resume(self, run: Execution) -> bool:
        """Let a run go on."""
        await self.controls.pause(run.execution_id, None)
        return await self._paused(run, on=False)

    async def _paused(self, run: Execution, *, on: bool) -> bool:
        if self._engine is None:
            return False
        done: bool | None = await self._engine.ask(run.execution_id, Pause(on=on))
        return bool(done)

    async def adjust(self, run: Execution, change: Change) -> int:
        """Change the runs of a split that still wait for items, and say how many there are."""
        if self._engine is None:
            return 0
        journal = SqliteInspector(self._database)
        try:
            found = (await journal.look(run.execution_id)).barriers
        finally:
            journal.close()
        changed = 0
        for barrier in found:
            if meant(barrier, change):
                done: bool | None = await self._engine.ask(
                    run.execution_id, adjustment(barrier, change)
                )
                changed += bool(done)
        return changed

    async def start_of(self, execution_id: str) -> bytes:
        """Return the tokens a run began with."""
        journal = SqliteHistory(self._database)
        try:
            return journal.payload(execution_id, Ref(START, 0))
        except StorageError:
            return b""
        finally:
            journal.close()

    async def history(self, execution_id: str) -> list[NodeRun]:
        """Return what every visit of a run came to."""
        return await asyncio.to_thread(self._history, execution_id)

    def _history(self, execution_id: str) -> list[NodeRun]:
        journal = SqliteHistory(self._database)
        try:
            return list(journal.node_runs(execution_id))
        finally:
            journal.close()


async def begin_embedded(
    engine: Engine,
    controls: Controls,
    program: Program,
    source: bytes,
    given: Any,
    execution_id: str,
    how: How,
) -> None:
    """Begin a run on the embedded engine: what was decided about it is kept first."""
    if how is not PLAIN:
        await controls.note(control_of(execution_id, how))
    await engine.start(program, source, given, execution_id, how)


_conforms: type[Steering] = EmbeddedSteering
