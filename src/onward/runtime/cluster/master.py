"""A master: folds statuses and completions into the store, in batches, and starts runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import InputError, MessageError, NewerMessageError, StorageError
from onward.kernel.context import Payload
from onward.kernel.history import check_completion, check_status
from onward.kernel.json import encode
from onward.kernel.messages import (
    CompletionMessage,
    NodeStatusMessage,
    Token,
    decode_completion,
    decode_statuses,
    encode_message,
)
from onward.kernel.program import Program
from onward.kernel.records import Definition, VisitRecord
from onward.ports import telemetry
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus, BusError, Delivery
from onward.ports.nodes.outside import Log
from onward.ports.storage.history_store import HistoryStore
from onward.ports.storage.payloads import Payloads
from onward.ports.storage.run_decisions import RunDecisions
from onward.ports.telemetry import UNMEASURED, Meter
from onward.runtime.cluster.newer_messages import NewerMessages
from onward.runtime.cluster.repair import Repairer
from onward.runtime.cluster.starter import RunAdmission, refused
from onward.runtime.queues import COMPLETION, EXECUTION, STATUS, level_of
from onward.runtime.signals.sender import payload_of, token_of
from onward.runtime.token.start import (
    DEFAULT_START,
    StartOptions,
    decision_of,
    first_tokens,
    renamed,
)

BATCH = 500
BATCH_BYTES = 512 * 1024
"""Statuses travel many to a message. More than these at once would hold up what ends meanwhile."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
PATIENCE_S = {STATUS: 0.1, COMPLETION: 0.02}
"""How long a batch waits for more before it is folded. What happens to a run within this time
is written together; the end of a run should be known sooner."""
ENOUGH = BATCH // 2
"""A batch that has so many waits no longer."""


Ended = Callable[[list[str]], Awaitable[None]]


class Master:
    """Keeps the ledger."""

    def __init__(
        self,
        bus: Bus,
        store: HistoryStore,
        log: Log,
        meter: Meter = UNMEASURED,
        *,
        ended: Ended | None = None,
    ) -> None:
        """Fold into `store`; `ended` is told which runs have ended, and perhaps told again."""
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
        deliveries = self._bus.consume(queue, prefetch=2 * BATCH)
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
                        found = decode_statuses(delivery.body)
                        for status in found:
                            check_status(status)
                        statuses += found
                except NewerMessageError as problem:
                    self._newer.hold(delivery, queue, problem)
                    continue
                except MessageError as problem:
                    # News that cannot be read moves no run: say so and go on.
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
        pause_s, began = FIRST_PAUSE_S, perf_counter()
        while True:
            try:
                await self._store.fold(statuses, completions)
                if completions and self._ended is not None:
                    await self._ended([completion.execution_id for completion in completions])
                self._told(statuses, completions, perf_counter() - began)
                return
            except (StorageError, BusError) as problem:
                self._meter.add(telemetry.STORE_OUTAGES)
                self._log.write("warning", f"the history waits for its store: {problem}")
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _told(
        self,
        statuses: list[NodeStatusMessage],
        completions: list[CompletionMessage],
        took_s: float,
    ) -> None:
        self._meter.observe(telemetry.FOLD_SECONDS, took_s)
        self._meter.add(telemetry.FOLDED, amount=len(statuses))
        for completion in completions:
            self._meter.add(telemetry.RUNS_ENDED, completion.status)
            self._meter.observe(telemetry.RUN_SECONDS, completion.total_duration_ms / 1000)


async def _batches(
    deliveries: AsyncIterator[Delivery], patience_s: float
) -> AsyncIterator[list[Delivery]]:
    """Iterate over what comes together: as much as is there, without waiting long for more."""
    inbox: asyncio.Queue[Delivery | None] = asyncio.Queue()

    async def fill() -> None:
        async for delivery in deliveries:
            inbox.put_nowait(delivery)
        inbox.put_nowait(None)

    filling = asyncio.create_task(fill())
    try:
        while (first := await inbox.get()) is not None:
            if inbox.qsize() < ENOUGH:
                await asyncio.sleep(patience_s)
            batch, size = [first], len(first.body)
            while len(batch) < BATCH and size < BATCH_BYTES and not inbox.empty():
                one = inbox.get_nowait()
                if one is None:
                    inbox.put_nowait(None)
                    break
                batch.append(one)
                size += len(one.body)
            yield batch
    finally:
        filling.cancel()


class Starter:
    """Starts runs: the definition, the run and its first tokens, in that order."""

    def __init__(
        self,
        bus: Bus,
        store: HistoryStore,
        payloads: Payloads,
        admission: RunAdmission,
        repairer: Repairer,
        controls: RunDecisions,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._bus = bus
        self._store = store
        self._payloads = payloads
        self._admission = admission
        self._repairer = repairer
        self._controls = controls
        self._clock = clock
        self._chance = chance

    async def start(
        self,
        program: Program,
        source: bytes,
        given: Any,
        execution_id: str | None = None,
        how: StartOptions = DEFAULT_START,
    ) -> str:
        """Start a run and return its id; it will then end, come what may."""
        now_ms = self._clock.now_ms()
        run = execution_id or self._chance.execution_id(now_ms)
        await self._store.save_definition(Definition(program.ref, program.workflow_id, source))
        tokens, payloads = first_tokens(program, run, encode(given), now_ms, how)
        # Before the run is noted: what is noted can be begun again, and then refers to them.
        for payload in payloads:
            await self._payloads.put(run, payload)
        kept = await self._kept(run, how)
        if not await self._admission.admit(*tokens, kept=kept):
            raise InputError(f"there is a run called {run} already; choose another id")
        try:
            if kept:
                await self._repairer.begin(run)
                return run
            for token in (*tokens, *(token_of(signal, tokens[0]) for signal in how.signals)):
                named = msgspec.structs.replace(token, publish_id=self._chance.publish_id())
                await self._bus.publish(EXECUTION, encode_message(named), priority=level_of(named))
        except BusError as problem:
            await self._withdraw(tokens[0], problem)
            raise
        return run

    async def _kept(self, run: str, how: StartOptions) -> list[VisitRecord]:
        """Keep what was decided about a run, and return the history it begins with."""
        if how is not DEFAULT_START:
            await self._controls.note(decision_of(run, how))
        for one in how.kept:
            if one.output_ref is not None:
                body = Raw(await self._payloads.get(one.execution_id, one.output_ref))
                await self._payloads.put(run, Payload(one.output_ref, body))
        for signal in how.signals:
            ref = payload_of(signal)
            if ref is not None:
                body = Raw(await self._payloads.get(signal.execution_id, ref))
                await self._payloads.put(run, Payload(ref, body))
        return renamed(how.kept, run)

    async def _withdraw(self, first: Token, problem: BusError) -> None:
        """End a run that the broker did not take: whoever was told that it failed starts another.

        Should this fail as well, the run is noted and has a state: a master will find it silent,
        and let it begin.
        """
        now_ms = self._clock.now_ms()
        with suppress(Exception):
            if await self._admission.withdraw(first):
                await self._store.fold([], [refused(first, str(problem), now_ms)])
