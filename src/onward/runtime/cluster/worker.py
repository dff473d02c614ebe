"""A worker: consume, claim, step, run, settle, perform, acknowledge.

A message is acknowledged only after everything that follows from it is confirmed. What goes wrong
outside a node (the broker, the coordinator, a payload) is tried again after 5, 25 and 125 seconds
and then quarantined; a message that can never be handled is quarantined at once, and its run ends.
A node that runs for long is held by a lease instead of by its message (`holding.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from time import perf_counter

import msgspec

from onward.errors import MessageError, NewerMessageError
from onward.kernel.effects import Judgement
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
from onward.runtime.cluster.services import Services
from onward.runtime.cluster.status_outbox import StatusOutbox
from onward.runtime.cluster.stop_signals import StopListener
from onward.runtime.instrumentation import VisitWatch
from onward.runtime.queues import DELAYS_S, EXECUTION, RETRIES, TIMEOUT, level_of
from onward.runtime.tasks import cancel, together
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import NoAction, decide, storable
from onward.runtime.token.statuses import fields_of, running

AWAY_S = 5.0
PARKED_MS = 3_600_000
"""A parked message looks after its run so often, should whoever resumed it have died half-way."""
QUEUES = (EXECUTION, TIMEOUT)
"""What a worker can consume."""


class Worker:
    """Handles messages, as many at once as it has slots."""

    def __init__(
        self,
        services: Services,
        me: WorkerInfo,
        *,
        queues: Sequence[str] = QUEUES,
        early_ack_s: float = EARLY_ACK_S,
        lease_s: float = LEASE_S,
    ) -> None:
        self._at = services
        self.name = me.name
        self._slots = me.slots
        self._queues = tuple(queues)
        self._terms = HoldSettings(
            me.name,
            services.bus,
            services.leases,
            services.clock,
            services.chance,
            services.log,
            early_ack_s,
            lease_s,
        )
        self._attendance = Heartbeat(services.roster, me, services.clock, services.log)
        self._busy: dict[str, set[MessageHold]] = {queue: set() for queue in queues}
        self._reader = ContextReader(services.payloads.load)
        self._outbox = StatusOutbox(services.bus)
        self._performer = EffectPerformer(services, self._outbox, self._reader)
        self._quarantine = Quarantine(services)
        self._newer = NewerMessages(services.bus, services.log)
        self._courtesy = LoopFairness()
        self._stopper = StopListener(services.endings, services.log)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Consume until cancelled."""
        await together(
            self._attendance.keep(), self._stopper.run(), *map(self._consume, self._queues)
        )

    async def drain(self, grace_s: float) -> int:
        """Wait for what is being handled; give back what does not finish in time, and say how many.

        Call it after `run` was cancelled. Nothing is halted: what is given back is delivered again.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        left = [task for task in self._tasks if not task.done()]
        await cancel(*left)
        await self._at.activities.aclose()
        await self._at.holdings.flush()
        await self._attendance.leave()
        return len(left)

    async def _consume(self, queue: str) -> None:
        """Consume as many at once as there are slots, those of long nodes included.

        A message that is on a lease is acknowledged: the broker sends another for it. What then
        finds no slot goes back at once, for a worker that has one.
        """
        busy = self._busy[queue]
        while True:
            prefetch = max(1, self._slots - sum(hold.long for hold in busy))
            async with aclosing(self._at.bus.consume(queue, prefetch=prefetch)) as deliveries:
                async for delivery in deliveries:
                    if len(busy) >= self._slots:
                        await delivery.give_back()
                        break
                    self._begin(delivery, busy)
                    if prefetch < self._slots and not any(hold.long for hold in busy):
                        break  # all slots are free for short nodes again
                else:
                    return  # the bus is closed
            while len(busy) >= self._slots:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, delivery: Delivery, busy: set[MessageHold]) -> None:
        hold = MessageHold(self._terms, delivery)
        busy.add(hold)
        task = asyncio.create_task(self._handle(delivery, hold))
        self._tasks.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            busy.discard(hold)

        task.add_done_callback(ended)

    async def _handle(self, delivery: Delivery, hold: MessageHold) -> None:
        token: Token | None = None
        try:
            token = decode_token(delivery.body)
            if token.signal == "probe":
                await self._at.pulses.mark(token.state_id, token.token_id)
                await delivery.ack()
                return
            if await hold.elsewhere(token):
                await delivery.ack()
                return
            bare = not token.definition_ref
            program, token = await self._at.programs.of(token)
            if not program.has_node(token):
                raise MessageError(f"the workflow has no node {token.current_node!r}")
            token = self._stamped(token)
            if bare:
                await self._at.admission.admit(token)
            await self._visit(program, token, hold)
        except asyncio.CancelledError:
            await hold.hand_back()
            if not hold.lost:
                raise
        except MessageError as problem:
            await self._put_aside(delivery, hold, token, problem)
        except Exception as problem:
            await self._trouble(delivery, hold, token, problem)
        else:
            await hold.settled()
            self._at.holdings.release(token.state_id, token.token_id)

    def _stamped(self, token: Token) -> Token:
        """Give a message of a producer that knows only the RFC the times it would have."""
        if token.sent_at and token.started_at:
            return token
        now_ms = self._at.clock.now_ms()
        return msgspec.structs.replace(
            token, sent_at=token.sent_at or now_ms, started_at=token.started_at or now_ms
        )

    async def _visit(self, program: Program, token: Token, hold: MessageHold) -> None:
        at, now_ms = self._at, self._at.clock.now_ms()
        verdict = await self._claim(token, hold)
        await self._courtesy.wait()
        began = perf_counter()
        doing = await at.activities.evaluators.run_with_answers(
            lambda pace: at.payloads.read(
                token.execution_id,
                lambda: decide(program, token, verdict, self._reader, now_ms, pace),
            )
        )
        self._courtesy.spent(perf_counter() - began)
        if isinstance(doing, NoAction):
            return
        with at.watch.visit(program, token) as visit:
            await self._carry_out(program, visit, doing, now_ms, hold)

    async def _claim(self, token: Token, hold: MessageHold) -> Verdict:
        """Claim a token; if its run is paused, put its message where it waits for the run."""
        at, name = self._at, f"{token.token_id}:{token.publish_id}"
        while True:
            verdict = await at.coordinator.claim(token)
            if not isinstance(verdict, Park):
                return verdict
            until_ms = at.clock.now_ms() + PARKED_MS
            if await at.timers.park(token.state_id, name, until_ms, hold.body):
                return verdict

    async def _carry_out(
        self,
        program: Program,
        visit: VisitWatch,
        doing: Judgement[None] | Activity | Outcome,
        now_ms: int,
        hold: MessageHold,
    ) -> None:
        at, token = self._at, visit.token
        if isinstance(doing, Iterator):
            await self._performer.perform(token, doing, 0)
            return
        if not token.signal:
            # Not waited for: the status of what comes of it is, and they travel in order.
            self._outbox.report(running(token, now_ms))
        duration_ms = 0
        if isinstance(doing, Activity):
            with hold.working(token), self._stopper.working(token.state_id) as work:
                try:
                    outcome: Outcome = await at.activities.run(token, doing)
                except asyncio.CancelledError:
                    if not work.was_stopped():
                        raise
                    return  # the run has ended: what the node came to would have no effect
            duration_ms = at.clock.now_ms() - now_ms
        else:
            outcome = doing
        outcome = visit.outcome = storable(outcome)
        ended_ms, dice, came_to = at.clock.now_ms(), at.chance.dice(), outcome
        await at.activities.evaluators.run_with_answers(
            lambda pace: self._performer.perform(
                token,
                program.settle(token, came_to, now_ms=ended_ms, dice=dice),
                duration_ms,
                pace,
            )
        )
        at.activities.callbacks.committed((token.publish_id,))

    async def _trouble(
        self, delivery: Delivery, hold: MessageHold, token: Token | None, problem: Exception
    ) -> None:
        """Something outside the node failed: try again later, and at last give up aloud."""
        reason = f"{type(problem).__name__}: {problem}"
        why = f"a message could not be handled: {reason}"
        self._at.log.write("warning", why, **fields_of(token))
        try:
            if token is None or token.trouble >= len(RETRIES):
                await self._quarantine.put(delivery.body, token, reason)
            else:
                later = msgspec.structs.replace(token, trouble=token.trouble + 1)
                body, level = encode_again(later, delivery.body), level_of(later)
                await self._at.bus.publish(RETRIES[token.trouble], body, priority=level)
                await self._note(later, reason)
        except Exception as trouble:
            await self._leave(hold, token, trouble)
        else:
            await hold.settled()

    async def _put_aside(
        self, delivery: Delivery, hold: MessageHold, token: Token | None, problem: MessageError
    ) -> None:
        """Repeating the message here can never help: let somebody newer have it, or nobody."""
        try:
            if isinstance(problem, NewerMessageError):
                await self._newer.send_round(delivery.body, problem)
            else:
                await self._quarantine.put(delivery.body, token, str(problem))
        except Exception as trouble:
            await self._leave(hold, token, trouble)
        else:
            await hold.settled()

    async def _leave(self, hold: MessageHold, token: Token | None, trouble: Exception) -> None:
        """Not even giving up worked, so a service is away: let the message come again, not at once.

        A broker delivers what is given back immediately, and would do so for ever.
        """
        why = f"a message will be tried again, it could not be put aside: {trouble}"
        self._at.log.write("warning", why, **fields_of(token))
        await asyncio.sleep(AWAY_S)
        await hold.leave()

    async def _note(self, later: Token, reason: str) -> None:
        """Say for people why and when a message comes again; that may fail too."""
        trouble = DeliveryFailure(
            node=later.current_node,
            item=describe(later.lineage_stack),
            failures=later.trouble,
            due_ms=self._at.clock.now_ms() + DELAYS_S[later.trouble - 1] * 1000,
            reason=reason,
        )
        with suppress(Exception):
            await self._at.holdings.trouble(later.state_id, later.token_id, trouble)
