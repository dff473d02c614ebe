"""Metrics and spans of a worker, or none at all.

`Instrumentation` wraps what a worker depends on: its bus, its coordinator, and the handling of one
token. What is switched off costs nothing: a port is wrapped only when a meter or a tracer is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import TypeVar

import msgspec

from onward.kernel.effects import Asks
from onward.kernel.messages import Token, decode_completion
from onward.kernel.outcome import Outcome
from onward.kernel.program import Program
from onward.kernel.verdicts import Drop, Execute, Finish, Park, Verdict
from onward.ports import telemetry
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.telemetry import UNMEASURED, Mark, Meter, Tracer, mark_of, root_of
from onward.runtime.queues import COMPLETION, QUARANTINE, RETRIES

R = TypeVar("R")
_DELAY_LABELS = {queue: queue.rpartition(".")[2] for queue in RETRIES}
_current_mark: ContextVar[Mark | None] = ContextVar("onward_mark", default=None)


class Instrumentation:
    """Reports to a meter and a tracer what a worker does."""

    def __init__(self, meter: Meter = UNMEASURED, tracer: Tracer | None = None) -> None:
        self.meter = meter
        self.tracer = tracer
        self._on = meter is not UNMEASURED or tracer is not None

    def bus(self, bus: Bus) -> Bus:
        """Return a bus whose traffic is counted, and whose completions end the spans of runs."""
        return _CountedBus(bus, self.meter, self._end_span) if self._on else bus

    def coordinator(self, coordinator: Coordinator) -> Coordinator:
        """Return a coordinator whose answers are counted."""
        if self.meter is UNMEASURED:
            return coordinator
        return _CountedCoordinator(coordinator, self.meter)

    def visit(self, program: Program, token: Token) -> VisitWatch:
        """Return the handling of a token, to be entered."""
        return _MeasuredVisit(self, program, token) if self._on else VisitWatch(token)

    def _end_span(self, body: bytes) -> None:
        if self.tracer is None:
            return
        completion = decode_completion(body)
        mark = _current_mark.get()
        # In a trace that was started outside, the span of its caller stands for the run.
        if mark is None or mark.trace == root_of(completion.execution_id).trace:
            self.tracer.ended(completion)


UNWATCHED = Instrumentation()

# -- the handling of one token -------------------------------------------------------------------


class VisitWatch:
    """The handling of one token, from its claim to its last effect. This one is not measured."""

    __slots__ = ("outcome", "token")

    def __init__(self, token: Token) -> None:
        self.token = token
        """The token to continue with: what follows from it belongs to its trace."""
        self.outcome: Outcome | None = None
        """The outcome of the node; None for a token that visits no node."""

    def __enter__(self) -> VisitWatch:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, with or without an error."""


class _MeasuredVisit(VisitWatch):
    __slots__ = ("_began", "_instrumentation", "_program", "_received", "_start_ns")

    def __init__(self, instrumentation: Instrumentation, program: Program, token: Token) -> None:
        super().__init__(token)
        self._instrumentation = instrumentation
        self._program = program
        self._received = token
        if instrumentation.tracer is not None and token.signal in ("", "resume"):
            mark = mark_of(token)
            _current_mark.set(mark)
            self.token = msgspec.structs.replace(token, traceparent=str(mark))

    def __enter__(self) -> VisitWatch:
        meter, tracer = self._instrumentation.meter, self._instrumentation.tracer
        meter.add(telemetry.SLOTS_USED)
        self._began = perf_counter()
        self._start_ns = tracer.now_ns() if tracer is not None else 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        meter, tracer = self._instrumentation.meter, self._instrumentation.tracer
        meter.add(telemetry.SLOTS_USED, amount=-1)
        outcome = self._outcome_label(problem)
        if outcome is None:
            return
        node_type = self._program.type_of(self._received)
        meter.add(telemetry.EXECUTIONS, node_type, outcome)
        meter.observe(telemetry.EXECUTION_SECONDS, perf_counter() - self._began, node_type)
        if self._received.attempt > 1:
            meter.add(telemetry.NODE_RETRIES, node_type)
        if tracer is not None:
            end_ns = tracer.now_ns()
            tracer.executed(self._received, node_type, outcome, self._start_ns, end_ns)

    def _outcome_label(self, problem: BaseException | None) -> str | None:
        """Return the outcome in one word; None when no node was visited."""
        if isinstance(problem, asyncio.CancelledError):
            return "given_back"
        if problem is not None:
            return "trouble"
        return None if self.outcome is None else type(self.outcome).__name__.lower()


# -- the bus -------------------------------------------------------------------------------------


class _CountedBus:
    """A bus whose traffic is counted; `ended` gets each completion that the broker confirmed."""

    def __init__(self, bus: Bus, meter: Meter, ended: Callable[[bytes], None]) -> None:
        self._bus = bus
        self._meter = meter
        self._ended = ended

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        meter, began = self._meter, perf_counter()
        try:
            await self._bus.publish(queue, body, priority=priority)
        except Exception:
            meter.add(telemetry.PUBLISH_FAILED, queue)
            raise
        meter.observe(telemetry.PUBLISH_SECONDS, perf_counter() - began, queue)
        meter.add(telemetry.PUBLISHED, queue)
        if queue in _DELAY_LABELS:
            meter.add(telemetry.TROUBLE, _DELAY_LABELS[queue])
        elif queue == QUARANTINE:
            meter.add(telemetry.QUARANTINED)
        elif queue == COMPLETION:
            self._ended(body)

    async def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        async with aclosing(self._bus.consume(queue, prefetch=prefetch)) as deliveries:
            async for delivery in deliveries:
                self._meter.add(telemetry.CONSUMED, queue)
                if delivery.redelivered:
                    self._meter.add(telemetry.REDELIVERED, queue)
                self._meter.add(telemetry.IN_HAND, queue)
                yield _CountedDelivery(delivery, self._meter, queue)

    async def close(self) -> None:
        await self._bus.close()


class _CountedDelivery:
    """A delivery that is counted when it is settled, once."""

    __slots__ = ("_delivery", "_meter", "_queue", "_settled", "body", "redelivered")

    def __init__(self, delivery: Delivery, meter: Meter, queue: str) -> None:
        self._delivery = delivery
        self._meter = meter
        self._queue = queue
        self._settled = False
        self.body = delivery.body
        self.redelivered = delivery.redelivered

    async def ack(self) -> None:
        self._count(telemetry.ACKED)
        await self._delivery.ack()

    async def give_back(self) -> None:
        self._count(telemetry.GIVEN_BACK)
        await self._delivery.give_back()

    def _count(self, metric: telemetry.Metric) -> None:
        if not self._settled:
            self._settled = True
            self._meter.add(metric, self._queue)
            self._meter.add(telemetry.IN_HAND, self._queue, amount=-1)


_bus_conforms: type[Bus] = _CountedBus
_delivery_conforms: type[Delivery] = _CountedDelivery

# -- the coordinator -----------------------------------------------------------------------------


class _CountedCoordinator:
    """A coordinator whose verdicts and failures are counted."""

    def __init__(self, coordinator: Coordinator, meter: Meter) -> None:
        self._coordinator = coordinator
        self._meter = meter

    async def claim(self, token: Token) -> Verdict:
        began = perf_counter()
        try:
            verdict = await self._coordinator.claim(token)
        except Exception:
            self._meter.add(telemetry.COORDINATOR_FAILED)
            raise
        self._meter.observe(telemetry.CLAIM_SECONDS, perf_counter() - began)
        self._meter.add(telemetry.CLAIMS, _verdict_label(verdict))
        return verdict

    async def answer(self, state_id: str, effect: Asks[R]) -> R:
        try:
            return await self._coordinator.answer(state_id, effect)
        except Exception:
            self._meter.add(telemetry.COORDINATOR_FAILED)
            raise


def _verdict_label(verdict: Verdict) -> str:
    match verdict:
        case Execute(recorded):
            return "run" if recorded is None else "follow"
        case Finish():
            return "finish"
        case Drop(why):
            return why
        case Park():
            return "parked"


_coordinator_conforms: type[Coordinator] = _CountedCoordinator
