"""What operators ask of a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager

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


class ClusterOperations:
    """`Operations` on the three services."""

    def __init__(
        self,
        *,
        open_quarantine: Callable[[], AbstractAsyncContextManager[QuarantineReview]],
        inspector: Inspector,
        store: HistoryStore,
        worker_registry: WorkerRegistry,
        due_timers: Callable[[int], Awaitable[list[tuple[str, str, int]]]],
        queue_states: Callable[[], Awaitable[list[QueueState]]],
        compile_definition: Callable[[Definition], Program],
        clock: Clock,
    ) -> None:
        self._open_quarantine = open_quarantine
        self._inspector = inspector
        self._store = store
        self._worker_registry = worker_registry
        self._due_timers = due_timers
        self._queue_states = queue_states
        self._compile = compile_definition
        self._clock = clock

    async def explain(self, execution_id: str) -> RunExplanation | None:
        now_ms = self._clock.now_ms()
        # The coordinator first: what the history then lacks has not been written yet.
        snapshot = await self._inspector.look(execution_id)
        async with self._open_quarantine() as review:
            entries = await review.everything()
        run = await self._store.execution(execution_id)
        run = run or unannounced_run(execution_id, snapshot, now_ms)
        if run is None:
            return None
        ref = run.definition_ref or definition_ref_in(snapshot)
        definition = await self._store.definition(ref) if ref else None
        return explain(
            Facts(
                run=run,
                snapshot=snapshot,
                layout=layout_of(definition, self._compile),
                node_runs=await self._store.node_runs(execution_id),
                quarantined=[
                    QuarantineCause(entry.at, entry.reason)
                    for entry in entries
                    if entry.execution_id == execution_id
                ],
                now_ms=now_ms,
            )
        )

    async def quarantine(self) -> list[QuarantineEntry]:
        async with self._open_quarantine() as review:
            return [_entry(message) for message in await review.everything()]

    async def release(
        self, numbers: Collection[int] | None, *, force: bool
    ) -> list[QuarantineEntry]:
        async with self._open_quarantine() as review:
            return [_entry(message) for message in await review.release(numbers, force=force)]

    async def discard(self, numbers: Collection[int] | None) -> list[QuarantineEntry]:
        async with self._open_quarantine() as review:
            return [_entry(message) for message in await review.discard(numbers)]

    async def timers(self, limit: int) -> list[PendingTimer]:
        return [
            PendingTimer(execution_id=execution_id, timer_id=timer_id, due_ms=due_ms)
            for execution_id, timer_id, due_ms in await self._due_timers(limit)
        ]

    async def queues(self) -> list[QueueState]:
        return await self._queue_states()

    async def workers(self) -> list[WorkerInfo]:
        return await self._worker_registry.workers()

    async def check(self) -> None:
        await self._store.execution("")


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
