"""Watching a worker from the outside: numbers and spans, or nothing at all.

What is off costs nothing: ports are wrapped only when somebody wants to know.
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

# -- A bus whose traffic is counted.


_DELAYS = {queue: queue.rpartition(".")[2] for queue in RETRIES}


class WatchedBus:
    """Passes everything on; `ended` is told each completion that the broker has confirmed."""

    def __init__(self, bus: Bus, meter: Meter, ended: Callable[[bytes], None]) -> None:
        self._bus = bus
        self._meter = meter
        self._ended = ended

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Publish, and count what came of it."""
        meter, began = self._meter, perf_counter()
        try:
            await self._bus.publish(queue, body, priority=priority)
        except Exception:
            meter.add(telemetry.PUBLISH_FAILED, queue)
            raise
        meter.observe(telemetry.PUBLISH_SECONDS, perf_counter() - began, queue)
        meter.add(telemetry.PUBLISHED, queue)
        if queue in _DELAYS:
            meter.add(telemetry.TROUBLE, _DELAYS[queue])
        elif queue == QUARANTINE:
            meter.add(telemetry.QUARANTINED)
        elif queue == COMPLETION:
            self._ended(body)

    async def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over deliveries that count how they are settled."""
        async with aclosing(self._bus.consume(queue, prefetch=prefetch)) as deliveries:
            async for delivery in deliveries:
                self._meter.add(telemetry.CONSUMED, queue)
                if delivery.redelivered:
                    self._meter.add(telemetry.REDELIVERED, queue)
                self._meter.add(telemetry.IN_HAND, queue)
                yield _Counted(delivery, self._meter, queue)

    async def close(self) -> None:
        """Close the bus behind."""
        await self._bus.close()


class _Counted:
    """A delivery that is counted when it is settled, once."""

    __slots__ = ("_delivery", "_meter", "_queue", "_settled")

    def __init__(self, delivery: Delivery, meter: Meter, queue: str) -> None:
        self._delivery = delivery
        self._meter = meter
        self._queue = queue
        self._settled = False

    @property
    def body(self) -> bytes:
        """The message itself."""
        return self._delivery.body

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self._delivery.redelivered

    async def ack(self) -> None:
        """Say that it is dealt with."""
        self._count(telemetry.ACKED)
        await self._delivery.ack()

    async def give_back(self) -> None:
        """Return it to its queue."""
        self._count(telemetry.GIVEN_BACK)
        await self._delivery.give_back()

    def _count(self, how: telemetry.Metric) -> None:
        if not self._settled:
            self._settled = True
            self._meter.add(how, self._queue)
            self._meter.add(telemetry.IN_HAND, self._queue, amount=-1)


_bus_conforms: type[Bus] = WatchedBus
_delivers: type[Delivery] = _Counted


R = TypeVar("R")
_here: ContextVar[Mark | None] = ContextVar("onward_mark", default=None)


class VisitWatch:
    """The handling of one token, from its claim to its last effect. This one is not watched."""

    __slots__ = ("outcome", "token")

    def __init__(self, token: Token) -> None:
        self.token = token
        """The token to go on with: what follows from it follows in its trace."""
        self.outcome: Outcome | None = None
        """What the node came to; None for a token that visits no node."""

    def __enter__(self) -> VisitWatch:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, whatever came of it."""


class Instrumentation:
    """Tells a meter and a tracer what a worker does."""

    def __init__(self, meter: Meter = UNMEASURED, tracer: Tracer | None = None) -> None:
        self.meter = meter
        self.tracer = tracer
        self._on = meter is not UNMEASURED or tracer is not None

    def bus(self, bus: Bus) -> Bus:
        """Return a bus whose traffic is counted, and which tells the runs that ended."""
        return WatchedBus(bus, self.meter, self._tell_end) if self._on else bus

    def coordinator(self, coordinator: Coordinator) -> Coordinator:
        """Return a coordinator whose answers are counted."""
        return _Watched(coordinator, self.meter) if self.meter is not UNMEASURED else coordinator

    def visit(self, program: Program, token: Token) -> VisitWatch:
        """Return the handling of a token, to be entered."""
        return _WatchedVisit(self, program, token) if self._on else VisitWatch(token)

    def _tell_end(self, body: bytes) -> None:
        if self.tracer is None:
            return
        completion = decode_completion(body)
        mark = _here.get()
        # In a trace that somebody else began, their span stands for the run.
        if mark is None or mark.trace == root_of(completion.execution_id).trace:
            self.tracer.ended(completion)


UNWATCHED = Instrumentation()


class _WatchedVisit(VisitWatch):
    __slots__ = ("_began", "_came", "_program", "_start_ns", "_watch")

    def __init__(self, watch: Instrumentation, program: Program, token: Token) -> None:
        super().__init__(token)
        self._watch = watch
        self._program = program
        self._came = token
        if watch.tracer is not None and token.signal in ("", "resume"):
            mark = mark_of(token)
            _here.set(mark)
            self.token = msgspec.structs.replace(token, traceparent=str(mark))

    def __enter__(self) -> VisitWatch:
        watch = self._watch
        watch.meter.add(telemetry.SLOTS_USED)
        self._began = perf_counter()
        self._start_ns = watch.tracer.now_ns() if watch.tracer is not None else 0
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        watch, meter = self._watch, self._watch.meter
        meter.add(telemetry.SLOTS_USED, amount=-1)
        outcome = self._told(problem)
        if outcome is None:
            return
        node_type = self._program.type_of(self._came)
        meter.add(telemetry.EXECUTIONS, node_type, outcome)
        meter.observe(telemetry.EXECUTION_SECONDS, perf_counter() - self._began, node_type)
        if self._came.attempt > 1:
            meter.add(telemetry.NODE_RETRIES, node_type)
        if watch.tracer is not None:
            end_ns = watch.tracer.now_ns()
            watch.tracer.executed(self._came, node_type, outcome, self._start_ns, end_ns)

    def _told(self, problem: BaseException | None) -> str | None:
        """Return what came of it in a word; None when no node was visited."""
        if isinstance(problem, asyncio.CancelledError):
            return "given_back"
        if problem is not None:
            return "trouble"
        return None if self.outcome is None else type(self.outcome).__name__.lower()


class _Watched:
    """A coordinator whose answers are counted."""

    def __init__(self, coordinator: Coordinator, meter: Meter) -> None:
        self._coordinator = coordinator
        self._meter = meter

    async def claim(self, token: Token) -> Verdict:
        """Claim, and count the verdict."""
        began = perf_counter()
        try:
            verdict = await self._coordinator.claim(token)
        except Exception:
            self._meter.add(telemetry.COORDINATOR_FAILED)
            raise
        self._meter.observe(telemetry.CLAIM_SECONDS, perf_counter() - began)
        self._meter.add(telemetry.CLAIMS, _word(verdict))
        return verdict

    async def answer(self, execution_id: str, effect: Asks[R]) -> R:
        """Ask, and count what is not answered."""
        try:
            return await self._coordinator.answer(execution_id, effect)
        except Exception:
            self._meter.add(telemetry.COORDINATOR_FAILED)
            raise


def _word(verdict: Verdict) -> str:
    match verdict:
        case Execute(recorded):
            return "run" if recorded is None else "follow"
        case Finish():
            return "finish"
        case Drop(why):
            return why
        case Park():
            return "parked"


_conforms: type[Coordinator] = _Watched
