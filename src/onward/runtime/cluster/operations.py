"""What operators ask of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from onward.kernel.messages import state_id_of
from onward.kernel.program import Program
from onward.kernel.records import Definition
from onward.ports.clock import Clock
from onward.ports.cluster.inspection import Inspector
from onward.ports.cluster.workers import WorkerInfo, WorkerRegistry
from onward.ports.storage.history_store import HistoryStore
from onward.runtime.backend import Operations, PendingTimer, QuarantineEntry, QueueState
from onward.runtime.cluster.quarantine import NumberedMessage, QuarantineReview
from onward.runtime.explain.explain import Facts, QuarantineCause, RunExplanation, explain
from onward.runtime.explain.facts import definition_ref_in, layout_of, unannounced_run


@dataclass(frozen=True, kw_only=True)
class ClusterOperations:
    """`Operations` on the three services."""

    open_quarantine: Callable[[], AbstractAsyncContextManager[QuarantineReview]]
    inspector: Inspector
    store: HistoryStore
    worker_registry: WorkerRegistry
    due_timers: Callable[[int], Awaitable[list[tuple[str, str, int]]]]
    queue_states: Callable[[], Awaitable[list[QueueState]]]
    compile_definition: Callable[[Definition], Program]
    clock: Clock

    async def explain(self, execution_id: str) -> RunExplanation | None:
        now_ms = self.clock.now_ms()
        known = await self.store.execution(execution_id)
        state_id = state_id_of(execution_id, known.generation if known else 0)
        # The coordinator before the history: what that then lacks has not been written yet.
        snapshot = await self.inspector.look(state_id)
        async with self.open_quarantine() as review:
            entries = await review.list_all()
        run = await self.store.execution(execution_id)
        run = run or unannounced_run(execution_id, snapshot, now_ms)
        if run is None:
            return None
        ref = run.definition_ref or definition_ref_in(snapshot)
        definition = await self.store.definition(ref) if ref else None
        return explain(
            Facts(
                run=run,
                snapshot=snapshot,
                layout=layout_of(definition, self.compile_definition),
                node_runs=await self.store.node_runs(execution_id),
                quarantined=[
                    QuarantineCause(entry.at, entry.reason)
                    for entry in entries
                    if entry.execution_id == execution_id
                ],
                now_ms=now_ms,
            )
        )

    async def quarantine(self) -> list[QuarantineEntry]:
        async with self.open_quarantine() as review:
            return [_entry(message) for message in await review.list_all()]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        async with self.open_quarantine() as review:
            return [_entry(message) for message in await review.release(numbers, force=force)]

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        async with self.open_quarantine() as review:
            return [_entry(message) for message in await review.discard(numbers)]

    async def timers(self, limit: int) -> list[PendingTimer]:
        return [
            PendingTimer(execution_id=execution_id, timer_id=timer_id, due_ms=due_ms)
            for execution_id, timer_id, due_ms in await self.due_timers(limit)
        ]

    async def queues(self) -> list[QueueState]:
        return await self.queue_states()

    async def workers(self) -> list[WorkerInfo]:
        return await self.worker_registry.workers()

    async def check(self) -> None:
        await self.store.execution("")


def _entry(message: NumberedMessage) -> QuarantineEntry:
    return QuarantineEntry(
        number=message.number,
        at=message.at,
        execution_id=message.execution_id,
        node_id=message.node,
        reason=message.reason,
        body=message.body,
    )


_conforms: type[Operations] = ClusterOperations
