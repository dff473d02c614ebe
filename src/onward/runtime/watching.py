"""Watching a worker from the outside: numbers and spans, or nothing at all.

What is off costs nothing: ports are wrapped only when somebody wants to know.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import TypeVar

import msgspec

from onward.kernel.claims import Drop, Finish, Park, Run, Verdict
from onward.kernel.effects import Asks
from onward.kernel.messages import Token, decode_completion
from onward.kernel.outcome import Outcome
from onward.kernel.program import Program
from onward.ports import metrics
from onward.ports.bus import Bus
from onward.ports.coordinator import Coordinator
from onward.ports.metrics import UNMEASURED, Meter
from onward.ports.tracing import Mark, Tracer, mark_of, root_of
from onward.runtime.watched_bus import WatchedBus

R = TypeVar("R")
_here: ContextVar[Mark | None] = ContextVar("onward_mark", default=None)


class Visit:
    """The handling of one token, from its claim to its last effect. This one is not watched."""

    __slots__ = ("outcome", "token")

    def __init__(self, token: Token) -> None:
        self.token = token
        """The token to go on with: what follows from it follows in its trace."""
        self.outcome: Outcome | None = None
        """What the node came to; None for a token that visits no node."""

    def __enter__(self) -> Visit:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, whatever came of it."""


class Watch:
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

    def visit(self, program: Program, token: Token) -> Visit:
        """Return the handling of a token, to be entered."""
        return _WatchedVisit(self, program, token) if self._on else Visit(token)

    def _tell_end(self, body: bytes) -> None:
        if self.tracer is None:
            return
        completion = decode_completion(body)
        mark = _here.get()
        # In a trace that somebody else began, their span stands for the run.
        if mark is None or mark.trace == root_of(completion.execution_id).trace:
            self.tracer.ended(completion)


UNWATCHED = Watch()


class _WatchedVisit(Visit):
    __slots__ = ("_began", "_came", "_program", "_start_ns", "_watch")

    def __init__(self, watch: Watch, program: Program, token: Token) -> None:
        super().__init__(token)
        self._watch = watch
        self._program = program
        self._came = token
        if watch.tracer is not None and token.signal in ("", "resume"):
            mark = mark_of(token)
            _here.set(mark)
            self.token = msgspec.structs.replace(token, traceparent=str(mark))

    def __enter__(self) -> Visit:
        watch = self._watch
        watch.meter.add(metrics.SLOTS_USED)
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
        meter.add(metrics.SLOTS_USED, amount=-1)
        outcome = self._told(problem)
        if outcome is None:
            return
        node_type = self._program.type_of(self._came)
        meter.add(metrics.EXECUTIONS, node_type, outcome)
        meter.observe(metrics.EXECUTION_SECONDS, perf_counter() - self._began, node_type)
        if self._came.attempt > 1:
            meter.add(metrics.NODE_RETRIES, node_type)
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
            self._meter.add(metrics.COORDINATOR_FAILED)
            raise
        self._meter.observe(metrics.CLAIM_SECONDS, perf_counter() - began)
        self._meter.add(metrics.CLAIMS, _word(verdict))
        return verdict

    async def answer(self, execution_id: str, effect: Asks[R]) -> R:
        """Ask, and count what is not answered."""
        try:
            return await self._coordinator.answer(execution_id, effect)
        except Exception:
            self._meter.add(metrics.COORDINATOR_FAILED)
            raise


def _word(verdict: Verdict) -> str:
    match verdict:
        case Run(recorded):
            return "run" if recorded is None else "follow"
        case Finish():
            return "finish"
        case Drop(why):
            return why
        case Park():
            return "parked"


_conforms: type[Coordinator] = _Watched
