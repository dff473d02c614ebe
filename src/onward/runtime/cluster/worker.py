"""A worker: decode, locate the program, claim, decide, run, settle, acknowledge.

Each step is a method or function with that name. `_handle` is the whole way of a message, `_visit`
the part from claim to settle; the message is acknowledged when everything that follows from it is
confirmed. What goes wrong outside a node (the broker, the coordinator, a payload) is tried again
after 5, 25 and 125 seconds and then quarantined; a message that can never be handled is quarantined
at once, and its run ends. A node that runs for long is held by a lease instead of by its message
(`message_hold.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from time import perf_counter

import msgspec

from onward.errors import MessageError, NewerMessageError
from onward.kernel.lineage import describe
from onward.kernel.messages import Token, decode_token, encode_again
from onward.kernel.outcome import Outcome
from onward.kernel.program import Activity, Program
from onward.kernel.verdicts import Park, Verdict
from onward.ports.cluster.bus import Delivery
from onward.ports.cluster.workers import DeliveryFailure, WorkerInfo
from onward.runtime.activity.evaluators import LoopFairness
from onward.runtime.cluster.effects import EffectPerformer
from onward.runtime.cluster.heartbeat import Heartbeat
from onward.runtime.cluster.message_hold import EARLY_ACK_S, LEASE_S, HoldSettings, MessageHold
from onward.runtime.cluster.newer_messages import NewerMessages
from onward.runtime.cluster.quarantine import Quarantine
from onward.runtime.cluster.services import WorkerServices
from onward.runtime.cluster.status_outbox import StatusOutbox
from onward.runtime.cluster.stop_signals import StopListener
from onward.runtime.queues import DELAYS_S, EXECUTION, RETRIES, TIMEOUT, level_of
from onward.runtime.tasks import cancel, together
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import Action, NoAction, TokenPipeline, storable
from onward.runtime.token.statuses import fields_of, running_status_of

AWAY_PAUSE_S = 5.0
PARKED_MS = 3_600_000
"""A parked message is sent again after this time, in case the resuming process died half-way."""
QUEUES = (EXECUTION, TIMEOUT)
"""The queues that a worker can consume."""


class Worker:
    """Handles messages, as many at once as it has slots."""

    def __init__(
        self,
        services: WorkerServices,
        info: WorkerInfo,
        *,
        queues: Sequence[str] = QUEUES,
        early_ack_s: float = EARLY_ACK_S,
        lease_s: float = LEASE_S,
    ) -> None:
        self.name = info.name
        self._services = services
        self._slots = info.slots
        self._queues = tuple(queues)
        self._hold_settings = HoldSettings(
            info.name,
            services.bus,
            services.leases,
            services.clock,
            services.chance,
            services.log,
            early_ack_s,
            lease_s,
        )
        reader = ContextReader(services.payloads.load)
        self._pipeline = TokenPipeline(
            reader, services.payloads.get, services.evaluators.run_with_answers
        )
        self._outbox = StatusOutbox(services.bus)
        self._performer = EffectPerformer(services, self._outbox, reader)
        self._fairness = LoopFairness()
        self._heartbeat = Heartbeat(services.workers, info, services.clock, services.log)
        self._stop_listener = StopListener(services.endings, services.log)
        self._quarantine = Quarantine(services)
        self._newer = NewerMessages(services.bus, services.log)
        self._busy: dict[str, set[MessageHold]] = {queue: set() for queue in queues}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Consume until cancelled."""
        await together(
            self._heartbeat.run(), self._stop_listener.run(), *map(self._consume, self._queues)
        )

    async def drain(self, grace_s: float) -> int:
        """Wait for the messages in hand; return to the queue, and count, those that take longer.

        Call it after `run` was cancelled. No run is halted: what is returned is delivered again.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        left = [task for task in self._tasks if not task.done()]
        await cancel(*left)
        await self._services.activities.aclose()
        await self._services.holdings.flush()
        await self._heartbeat.leave()
        return len(left)

    # -- consume -------------------------------------------------------------------------------

    async def _consume(self, queue: str) -> None:
        """Consume as many at once as there are slots, those of long nodes included.

        A message that is on a lease is acknowledged: the broker sends another for it. One that then
        finds no slot is returned at once, for a worker that has one.
        """
        busy = self._busy[queue]
        while True:
            prefetch = max(1, self._slots - sum(hold.on_lease for hold in busy))
            async with aclosing(self._services.bus.consume(queue, prefetch=prefetch)) as deliveries:
                async for delivery in deliveries:
                    if len(busy) >= self._slots:
                        await delivery.give_back()
                        break
                    self._begin(delivery, busy)
                    if prefetch < self._slots and not any(hold.on_lease for hold in busy):
                        break  # all slots are free for short nodes again
                else:
                    return  # the bus is closed
            while len(busy) >= self._slots:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, delivery: Delivery, busy: set[MessageHold]) -> None:
        hold = MessageHold(self._hold_settings, delivery)
        busy.add(hold)
        task = asyncio.create_task(self._handle(delivery, hold))
        self._tasks.add(task)

        def finish(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            busy.discard(hold)

        task.add_done_callback(finish)

    async def _handle(self, delivery: Delivery, hold: MessageHold) -> None:
        token: Token | None = None
        try:
            token = decode_token(delivery.body)
            if await self._only_acknowledge(token, hold):
                await delivery.ack()
                return
            program, token = await self._locate_program(token)
            await self._visit(program, token, hold)
        except asyncio.CancelledError:
            await hold.hand_back()
            if not hold.lease_lost:
                raise
        except MessageError as problem:
            await self._reject(delivery, hold, token, problem)
        except Exception as problem:
            await self._retry_later(delivery, hold, token, problem)
        else:
            await hold.acknowledge()
            self._services.holdings.release(token.state_id, token.token_id)

    # -- one token -----------------------------------------------------------------------------

    async def _only_acknowledge(self, token: Token, hold: MessageHold) -> bool:
        """Return whether there is nothing to do: a probe, or a message on another one's lease."""
        if token.signal == "probe":
            await self._services.liveness.mark(token.state_id, token.token_id)
            return True
        return await hold.is_leased(token)

    async def _locate_program(self, token: Token) -> tuple[Program, Token]:
        """Return the program of a token; a run that a plain message starts is admitted here."""
        plain = not token.definition_ref
        program, token = await self._services.programs.of(token)
        if not program.has_node(token):
            raise MessageError(f"the workflow has no node {token.current_node!r}")
        token = self._with_times(token)
        if plain:
            await self._services.admission.admit(token)
        return program, token

    def _with_times(self, token: Token) -> Token:
        """Give the message of a producer that knows only the RFC the times that it lacks."""
        if token.sent_at and token.started_at:
            return token
        now_ms = self._services.clock.now_ms()
        return msgspec.structs.replace(
            token, sent_at=token.sent_at or now_ms, started_at=token.started_at or now_ms
        )

    async def _visit(self, program: Program, token: Token, hold: MessageHold) -> None:
        now_ms = self._services.clock.now_ms()
        verdict = await self._claim(token, hold)
        action = await self._decide(program, token, verdict, now_ms)
        if isinstance(action, NoAction):
            return
        with self._services.instrumentation.visit(program, token) as visit:
            token = visit.token
            if isinstance(action, Iterator):
                await self._performer.perform(token, action, 0)
                return
            if not token.signal:
                # Not awaited: the status of the outcome is, and statuses travel in order.
                self._outbox.report(running_status_of(token, now_ms))
            if isinstance(action, Activity):
                outcome = await self._run(token, action, hold)
                if outcome is None:
                    return
                duration_ms = self._services.clock.now_ms() - now_ms
            else:
                outcome, duration_ms = action, 0
            visit.outcome = storable(outcome)
            await self._settle(program, token, visit.outcome, duration_ms)

    async def _claim(self, token: Token, hold: MessageHold) -> Verdict:
        """Claim a token; if its run is paused, park its message until the run is resumed."""
        name = f"{token.token_id}:{token.publish_id}"
        while True:
            verdict = await self._services.coordinator.claim(token)
            if not isinstance(verdict, Park):
                return verdict
            until_ms = self._services.clock.now_ms() + PARKED_MS
            if await self._services.timers.park(token.state_id, name, until_ms, hold.body):
                return verdict

    async def _decide(
        self, program: Program, token: Token, verdict: Verdict, now_ms: int
    ) -> Action:
        await self._fairness.wait()
        began = perf_counter()
        action = await self._pipeline.decide(program, token, verdict, now_ms)
        self._fairness.spent(perf_counter() - began)
        return action

    async def _run(self, token: Token, activity: Activity, hold: MessageHold) -> Outcome | None:
        """Return the outcome of an activity; None when its run ended first: it has no effect."""
        with hold.working(token), self._stop_listener.working(token.state_id) as work:
            try:
                return await self._services.activities.run(token, activity)
            except asyncio.CancelledError:
                if not work.was_stopped():
                    raise
                return None

    async def _settle(
        self, program: Program, token: Token, outcome: Outcome, duration_ms: int
    ) -> None:
        now_ms, dice = self._services.clock.now_ms(), self._services.chance.dice()
        await self._services.evaluators.run_with_answers(
            lambda time_slice: self._performer.perform(
                token,
                program.settle(token, outcome, now_ms=now_ms, dice=dice),
                duration_ms,
                time_slice,
            )
        )
        self._services.callbacks.committed((token.publish_id,))

    # -- failures outside the node -------------------------------------------------------------

    async def _retry_later(
        self, delivery: Delivery, hold: MessageHold, token: Token | None, problem: Exception
    ) -> None:
        """Send the message again after a delay; quarantine it when it has failed too often."""
        reason = f"{type(problem).__name__}: {problem}"
        text = f"a message could not be handled: {reason}"
        self._services.log.write("warning", text, **fields_of(token))
        try:
            if token is None or token.trouble >= len(RETRIES):
                await self._quarantine.put(delivery.body, token, reason)
            else:
                later = msgspec.structs.replace(token, trouble=token.trouble + 1)
                body, level = encode_again(later, delivery.body), level_of(later)
                await self._services.bus.publish(RETRIES[token.trouble], body, priority=level)
                await self._note_failure(later, reason)
        except Exception as second_problem:
            await self._leave(hold, token, second_problem)
        else:
            await hold.acknowledge()

    async def _reject(
        self, delivery: Delivery, hold: MessageHold, token: Token | None, problem: MessageError
    ) -> None:
        """Leave a message to a newer worker, or quarantine it: repeating it here can never help."""
        try:
            if isinstance(problem, NewerMessageError):
                await self._newer.requeue(delivery.body, problem)
            else:
                await self._quarantine.put(delivery.body, token, str(problem))
        except Exception as second_problem:
            await self._leave(hold, token, second_problem)
        else:
            await hold.acknowledge()

    async def _leave(self, hold: MessageHold, token: Token | None, problem: Exception) -> None:
        """A service is away, so the message can be neither retried nor quarantined: return it to
        its queue, after a pause.

        A broker delivers a returned message immediately, and would do so for ever.
        """
        text = f"a message will be tried again, it could not be quarantined: {problem}"
        self._services.log.write("warning", text, **fields_of(token))
        await asyncio.sleep(AWAY_PAUSE_S)
        await hold.leave()

    async def _note_failure(self, later: Token, reason: str) -> None:
        """Note for people why and when a message comes again; a failure to do so is no matter."""
        failure = DeliveryFailure(
            node=later.current_node,
            item=describe(later.lineage_stack),
            failures=later.trouble,
            due_ms=self._services.clock.now_ms() + DELAYS_S[later.trouble - 1] * 1000,
            reason=reason,
        )
        with suppress(Exception):
            await self._services.holdings.note_failure(later.state_id, later.token_id, failure)
