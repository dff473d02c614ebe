"""A master: folds statuses and completions into the store, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from time import perf_counter

from onward.errors import MessageError, NewerMessageError, StorageError
from onward.kernel.history import check_completion, check_status
from onward.kernel.messages import (
    CompletionMessage,
    NodeStatusMessage,
    decode_completion,
    decode_statuses,
)
from onward.ports import telemetry
from onward.ports.cluster.bus import Bus, BusError, Delivery
from onward.ports.nodes.outside import Log
from onward.ports.storage.history_store import HistoryStore
from onward.ports.telemetry import UNMEASURED, Meter
from onward.runtime.cluster.newer_messages import NewerMessages
from onward.runtime.queues import COMPLETION, STATUS
from onward.runtime.tasks import retry

BATCH_MESSAGES = 500
BATCH_BYTES = 512 * 1024
"""Statuses travel many to a message. A larger batch would delay runs that end meanwhile."""
ENOUGH_MESSAGES = BATCH_MESSAGES // 2
"""A batch that has so many waits no longer."""
PATIENCE_S = {STATUS: 0.1, COMPLETION: 0.02}
"""How long a batch waits for more before it is folded. What happens to a run within this time
is written together; the end of a run should be known sooner."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0

OnRunsEnded = Callable[[list[str]], Awaitable[None]]


class Master:
    """Folds what workers report into the history."""

    def __init__(
        self,
        bus: Bus,
        store: HistoryStore,
        log: Log,
        meter: Meter = UNMEASURED,
        *,
        ended: OnRunsEnded | None = None,
    ) -> None:
        """Fold into `store`, and call `ended` with the runs that have ended, perhaps repeatedly."""
        self._ended = ended
        self._bus = bus
        self._store = store
        self._log = log
        self._meter = meter
        self._newer = NewerMessages(bus, log)

    async def run(self) -> None:
        """Fold until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._fold_all(STATUS))
                group.create_task(self._fold_all(COMPLETION))
        finally:
            self._newer.close()

    async def _fold_all(self, queue: str) -> None:
        deliveries = self._bus.consume(queue, prefetch=2 * BATCH_MESSAGES)
        async for batch in _batches(deliveries, PATIENCE_S[queue]):
            statuses: list[NodeStatusMessage] = []
            completions: list[CompletionMessage] = []
            done: list[Delivery] = []
            for delivery in batch:
                try:
                    if queue == COMPLETION:
                        completion = decode_completion(delivery.body)
                        check_completion(completion)
                        completions.append(completion)
                    else:
                        decoded = decode_statuses(delivery.body)
                        for status in decoded:
                            check_status(status)
                        statuses += decoded
                except NewerMessageError as problem:
                    self._newer.requeue_later(delivery, queue, problem)
                    continue
                except MessageError as problem:
                    # No run waits for a status or a completion: log the problem, and drop it.
                    self._log.write("error", f"{queue}: a message cannot be read: {problem}")
                    self._meter.add(telemetry.UNREADABLE, queue)
                done.append(delivery)
            await self._fold(statuses, completions)
            for delivery in done:
                await delivery.ack()

    async def _fold(
        self, statuses: list[NodeStatusMessage], completions: list[CompletionMessage]
    ) -> None:
        """Fold, however long the store is away: the messages wait unacknowledged meanwhile."""
        began = perf_counter()

        async def fold() -> None:
            await self._store.fold(statuses, completions)
            if completions and self._ended is not None:
                await self._ended([completion.execution_id for completion in completions])

        await retry(
            fold,
            (StorageError, BusError),
            self._report_outage,
            first_pause_s=FIRST_PAUSE_S,
            longest_pause_s=LONGEST_PAUSE_S,
        )
        self._meter.observe(telemetry.FOLD_SECONDS, perf_counter() - began)
        self._meter.add(telemetry.FOLDED, amount=len(statuses))
        for completion in completions:
            self._meter.add(telemetry.RUNS_ENDED, completion.status)
            self._meter.observe(telemetry.RUN_SECONDS, completion.total_duration_ms / 1000)

    def _report_outage(self, problem: Exception) -> None:
        self._meter.add(telemetry.STORE_OUTAGES)
        self._log.write("warning", f"the history waits for its store: {problem}")


async def _batches(
    deliveries: AsyncIterator[Delivery], patience_s: float
) -> AsyncIterator[list[Delivery]]:
    """Iterate over what arrives together: all that is there, without waiting long for more."""
    inbox: asyncio.Queue[Delivery | None] = asyncio.Queue()

    async def fill() -> None:
        async for delivery in deliveries:
            inbox.put_nowait(delivery)
        inbox.put_nowait(None)

    filler = asyncio.create_task(fill())
    try:
        while (first := await inbox.get()) is not None:
            if inbox.qsize() < ENOUGH_MESSAGES:
                await asyncio.sleep(patience_s)
            batch, size = [first], len(first.body)
            while len(batch) < BATCH_MESSAGES and size < BATCH_BYTES and not inbox.empty():
                delivery = inbox.get_nowait()
                if delivery is None:
                    inbox.put_nowait(None)
                    break
                batch.append(delivery)
                size += len(delivery.body)
            yield batch
    finally:
        filler.cancel()
