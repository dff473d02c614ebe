"""The embedded engine: one process, one journal, any number of runs at once.

A single loop takes turns: it handles what is ready in memory, hands the batch to the one writer,
and handles more while that commits. Runs take turns fairly, so a huge fan-out does not starve a
small run beside it, and a run whose next node needs a slot waits without holding up the others.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import msgspec

from onward.errors import InputError, MessageError, StorageError
from onward.kernel.context import Payload
from onward.kernel.effects import Asks, R
from onward.kernel.json import encode
from onward.kernel.messages import CompletionMessage, RunMessage, Token, check_identifier
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.ports.clock import Chance, Clock
from onward.ports.nodes.outside import Log
from onward.ports.storage.journal import Journal
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.embedded.active_run import ActiveRun, JournaledCells, QueuedToken
from onward.runtime.embedded.start import apply_options, recover_options, store_first_tokens
from onward.runtime.embedded.turn import (
    ActivityResult,
    DeferredToken,
    PendingActivity,
    Settlement,
    TokenHandler,
    TurnBatch,
    Visit,
)
from onward.runtime.token.start import DEFAULT_START, StartOptions, first_tokens_of
from onward.runtime.token.statuses import cancellation_of, fields_of, text_of
from onward.subprocesses import uninterrupted

TURN_TOKENS = 2_000
"""At most this many tokens share a commit."""
TURN_SECONDS = 0.025
"""A turn that takes longer is committed as it is: waiting longer would cost latency, and gain no
throughput."""
QUANTUM_TOKENS = 32
"""How many tokens of one run are handled before another run has its turn."""

Observe = Callable[[RunMessage], None]
Compile = Callable[[Definition], Program]

_completions = msgspec.json.Decoder(CompletionMessage)


class EmbeddedEngine:
    """Runs workflows durably. Use it as an async context manager.

    `observe` is called with every status and completion message, in order, after it is committed.
    `events` keeps a numbered log of what happens in each run, in the commit that makes it true.
    Leaving the context stops at a commit; unfinished runs continue when they are resumed.
    """

    def __init__(
        self,
        journal: Journal,
        compile_definition: Compile,
        activities: ActivityRunner,
        clock: Clock,
        chance: Chance,
        log: Log,
        *,
        slots: int = 64,
        observe: Iterable[Observe] = (),
        events: bool = False,
    ) -> None:
        self._journal = journal
        self._compile = compile_definition
        self._activities = activities
        self._clock = clock
        self._chance = chance
        self._log = log
        self._observers = list(observe)
        self._events = events
        self._slots = slots
        self._slots_used = 0
        """By activities that run, or whose commit is being written."""
        self._runs: dict[str, ActiveRun] = {}
        self._rotation: deque[ActiveRun] = deque()
        self._starved: deque[ActiveRun] = deque()
        """Runs whose next node needs a slot."""
        self._results: deque[ActivityResult] = deque()
        self._resolved: deque[Visit | Settlement] = deque()
        """What was deferred until a long evaluation was done, which it is."""
        self._waiters: dict[str, asyncio.Future[None]] = {}
        """Those who wait for a commit, by the name of what it holds."""
        self._alarms = TimerHeap()
        # Numbers of messages never repeat, also across restarts: they follow the clock.
        first = max(journal.last_message(), clock.now_ms() * 1000)
        self._handler = TokenHandler(
            journal, first, clock.now_ms, chance.dice, self._alarms.set, activities.node_logs
        )
        self._wake = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="onward-journal")
        self._committing: asyncio.Task[None] | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._stopping = False
        self._broken: Exception | None = None

    async def __aenter__(self) -> Self:
        self._loop_task = asyncio.create_task(self._loop())
        return self

    async def __aexit__(self, *_: object) -> None:
        await uninterrupted(self._stop())

    async def _stop(self) -> None:
        self._stopping = True
        self._wake.set()
        if self._loop_task is not None:
            await asyncio.wait([self._loop_task])
        tasks = [task for run in self._runs.values() for task in run.tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._writer.shutdown()

    # -- runs ----------------------------------------------------------------------------------

    async def start(
        self,
        program: Program,
        source: bytes,
        given: Any,
        execution_id: str | None = None,
        how: StartOptions = DEFAULT_START,
    ) -> str:
        """Start a run and return its id once that is committed: it will then end, come what may."""
        try:
            raw = encode(given)
            if execution_id is not None:
                check_identifier("execution id", execution_id)
        except MessageError as problem:
            raise InputError(f"the run cannot start: {problem}") from None
        now_ms = self._clock.now_ms()
        if execution_id is None:
            execution_id = self._chance.execution_id(now_ms)
        if execution_id in self._runs or self._journal.execution(execution_id) is not None:
            raise InputError(f"there is a run called {execution_id} already; choose another id")
        run = ActiveRun(execution_id, program, JournaledCells())
        tokens, payloads = first_tokens_of(program, execution_id, raw, now_ms, how)
        commit = self._handler.turn.commit
        commit.definitions.append(Definition(program.ref, program.workflow_id, source))
        commit.started.append(
            RunRecord(
                execution_id=execution_id,
                workflow_id=program.workflow_id,
                definition_ref=program.ref,
                status="running",
                started_ms=now_ms,
            )
        )
        if self._events:
            self._handler.open_event_log(execution_id, now_ms, 0)
            store_first_tokens(run, self._handler, tokens)
        self._handler.store(run, payloads)
        apply_options(run, self._handler, self._journal, tokens[0], how)
        self._handler.send(run, *tokens)
        self._waiters[execution_id] = committed = asyncio.get_running_loop().create_future()
        self._admit(run)
        await committed
        return execution_id

    def resume(self, execution_id: str) -> None:
        """Continue an unfinished run where its last commit left it; nothing when it is served."""
        if execution_id in self._runs:
            return
        record = self._journal.execution(execution_id)
        if record is None:
            raise InputError(f"there is no run called {execution_id}")
        if record.status != "running":
            raise InputError(f"run {execution_id} has ended already: it is {record.status}")
        definition = self._journal.definition(record.definition_ref)
        if definition is None:
            raise StorageError(f"the definition of {execution_id} is not in the database")
        cells = JournaledCells(self._journal.cells(execution_id))
        run = ActiveRun(execution_id, self._compile(definition), cells)
        run.ready.extend(QueuedToken(*message) for message in self._journal.messages(execution_id))
        recover_options(run, self._handler, self._journal)
        if self._events:
            last = self._journal.last_event(execution_id)
            self._handler.open_event_log(execution_id, record.started_ms, last)
        for due_ms, timer_id in self._journal.timers(execution_id):
            self._alarms.set(due_ms, execution_id, timer_id)
        self._admit(run)

    def _admit(self, run: ActiveRun) -> None:
        if self._broken is not None:
            raise self._broken
        self._runs[run.execution_id] = run
        self._enqueue(run)
        self._wake.set()

    async def wait(self, execution_id: str) -> CompletionMessage:
        """Return how the run ended, once it has."""
        run = self._runs.get(execution_id)
        if run is not None:
            return await asyncio.shield(run.done)
        record = self._journal.execution(execution_id)
        if record is None:
            raise InputError(f"there is no run called {execution_id}")
        if record.completion is None:
            raise InputError(f"run {execution_id} is not being served here; resume it first")
        return _completions.decode(record.completion)

    def unfinished(self) -> list[RunRecord]:
        """Return the runs of the journal that have not ended."""
        return self._journal.unfinished()

    def context_of(self, message: CompletionMessage) -> dict[str, Any]:
        """Return the whole final context of a run, with what it refers to."""
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        for name, ref in message.context_refs.items():
            context[name] = msgspec.json.decode(self._journal.payload(message.execution_id, ref))
        return context

    def history(self, execution_id: str) -> list[VisitRecord]:
        """Return the recorded visits of a run."""
        return list(self._journal.node_runs(execution_id))

    # -- what others do to a run ---------------------------------------------------------------

    async def cancel(self, execution_id: str, reason: str = "") -> bool:
        """End a run as cancelled, and cancel its activities; False when it is not served here.

        Returns once that is committed.
        """
        record = self._journal.execution(execution_id)
        if record is None:
            return False
        return await self.end(cancellation_of(record, reason, self._clock.now_ms()))

    async def end(self, message: CompletionMessage) -> bool:
        """End a run as a message says, and cancel its activities; False when another end came
        first or it is not served here. Returns once that is committed.
        """
        run = self._runs.get(message.execution_id)
        if run is None or run.ended:
            return False
        self._handler.end(run, message)
        self._wake.set()
        return await asyncio.shield(run.done) == message

    async def ask(self, execution_id: str, effect: Asks[R]) -> R | None:
        """Answer a question of the kernel about a run; None when it is not served here.

        Returns once what it changed is committed.
        """
        run = self._runs.get(execution_id)
        if run is None or run.ended:
            return None
        answer = self._handler.ask(run, effect)
        await self._committed(run)
        return answer

    async def send(self, token: Token, payloads: Sequence[Payload] = ()) -> bool:
        """Send a token to a run, once that is committed; False when it is not served here."""
        run = self._runs.get(token.execution_id)
        if run is None or run.ended:
            return False
        self._handler.store(run, list(payloads))
        self._handler.send(run, token)
        await self._committed(run)
        return True

    async def _committed(self, run: ActiveRun) -> None:
        """Return once what the turn has gathered is committed."""
        self._enqueue(run)
        name = self._chance.publish_id()
        self._handler.turn.waiters.append(name)
        self._waiters[name] = committed = asyncio.get_running_loop().create_future()
        self._wake.set()
        await asyncio.shield(committed)

    # -- the loop ------------------------------------------------------------------------------

    async def _loop(self) -> None:
        try:
            while not self._stopping:
                self._wake.clear()
                self._fire_timers()
                self._work()
                if not await self._advance():
                    await self._clock.wait(self._wake, self._alarms.first_ms)
            if self._broken is None:
                await self._advance()
            if self._committing is not None:
                await self._committing
        except Exception as problem:
            self._break(problem)

    def _fire_timers(self) -> None:
        """Send the tokens of the timers that are due."""
        for timer in self._alarms.due(self._clock.now_ms()):
            run = self._runs.get(timer.execution_id)
            if run is not None and not run.ended:
                self._handler.fire_timer(run, timer.timer_id)
                self._enqueue(run)

    def _work(self) -> None:
        """Handle what is ready, until the turn is full or nothing more can be done."""
        clock = asyncio.get_running_loop().time
        until = clock() + TURN_SECONDS
        while self._results:
            result = self._results.popleft()
            if not result.run.ended:
                self._handler.settle(result)
                self._enqueue(result.run)
        while self._resolved:
            work = self._resolved.popleft()
            if not work.run.ended:
                self._handler.attempt(work)
                self._enqueue(work.run)
        while self._handler.turn.handled < TURN_TOKENS and clock() < until:
            queue = self._starved if self._starved and self._has_slot() else self._rotation
            if not queue:
                return
            run = queue.popleft()
            run.queued = False
            self._serve(run)

    def _serve(self, run: ActiveRun) -> None:
        for _ in range(QUANTUM_TOKENS * (1 + run.priority)):
            if run.ended or not run.ready or run.coordination.paused:
                return
            if not self._has_slot() and self._handler.needs_slot(run):
                run.queued = True
                self._starved.append(run)
                return
            self._handler.handle(run)
        self._enqueue(run)

    def _has_slot(self) -> bool:
        return self._slots_used + len(self._handler.turn.activities) < self._slots

    def _enqueue(self, run: ActiveRun) -> None:
        if run.ready and not run.queued and not run.coordination.paused:
            run.queued = True
            self._rotation.append(run)

    async def _advance(self) -> bool:
        """Hand the turn to the writer, which has one commit in flight at most.

        Return whether there is more to do at once.
        """
        for deferred in self._handler.deferred:
            work = deferred.work
            work.run.tasks[work.seq] = asyncio.create_task(self._resolve(deferred))
        self._handler.deferred.clear()
        if self._handler.has_changes():
            if self._committing is not None:
                await self._committing
            turn = self._handler.take()
            self._slots_used += len(turn.activities)
            self._committing = asyncio.create_task(self._commit(turn))
        await asyncio.sleep(0)
        more = self._rotation or self._results or self._resolved
        return bool(more or (self._starved and self._has_slot()))

    async def _resolve(self, deferred: DeferredToken) -> None:
        """Have a long evaluation done, beside everything else."""
        work = deferred.work
        try:
            await self._activities.evaluators.resolve(work.time_slice, deferred.exceeded)
            self._resolved.append(work)
        finally:
            work.run.tasks.pop(work.seq, None)
            self._wake.set()

    # -- commits, and what follows them --------------------------------------------------------

    async def _commit(self, turn: TurnBatch) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._writer, self._journal.commit, turn.commit)
        except Exception as problem:
            self._break(problem)
            return
        self._handler.forget_committed(turn)
        self._activities.callbacks.committed(turn.commit.consumed)
        for name in (*(record.execution_id for record in turn.commit.started), *turn.waiters):
            if name in self._waiters:
                self._waiters.pop(name).set_result(None)
        self._publish(turn)
        for run, message in turn.ended:
            self._finish(run, message)
        for pending in turn.activities:
            pending.run.tasks[pending.seq] = asyncio.create_task(self._run(pending))
        self._wake.set()

    def _publish(self, turn: TurnBatch) -> None:
        for line in turn.log_lines:
            self._log.write(line.level, text_of(line.message), **fields_of(line.token))
        for message in turn.messages:
            if message is not None:
                for observe in self._observers:
                    observe(message)

    async def _run(self, pending: PendingActivity) -> None:
        run, seq, token, activity = pending
        started_ms = self._clock.now_ms()
        try:
            if run.ended:
                return
            outcome = await self._activities.run(token, activity)
            duration_ms = self._clock.now_ms() - started_ms
            self._results.append(ActivityResult(run, seq, token, outcome, duration_ms))
        except StorageError as problem:
            self._break(problem)
        finally:
            run.tasks.pop(seq, None)
            self._slots_used -= 1
            self._wake.set()

    def _finish(self, run: ActiveRun, message: CompletionMessage) -> None:
        for task in tuple(run.tasks.values()):
            task.cancel()
        del self._runs[run.execution_id]
        run.done.set_result(message)

    def _break(self, problem: Exception) -> None:
        """Stop: the journal cannot be written, so nothing can be promised to those who wait."""
        self._broken = problem
        self._stopping = True
        self._wake.set()
        waiters: list[asyncio.Future[Any]] = [run.done for run in self._runs.values()]
        for waiter in (*waiters, *self._waiters.values()):
            if not waiter.done():
                waiter.set_exception(problem)
                waiter.exception()  # retrieved here, in case nothing awaits it


# -- timers ----------------------------------------------------------------------------------------


class TimerEntry(NamedTuple):
    """When a timer of a run is due."""

    due_ms: int
    execution_id: str
    timer_id: str


class TimerHeap:
    """The timers of every run, the next one first."""

    def __init__(self) -> None:
        self._heap: list[TimerEntry] = []

    def set(self, due_ms: int, execution_id: str, timer_id: str) -> None:
        """Add a timer."""
        heapq.heappush(self._heap, TimerEntry(due_ms, execution_id, timer_id))

    @property
    def first_ms(self) -> int | None:
        """When the first of them is due."""
        return self._heap[0].due_ms if self._heap else None

    def due(self, now_ms: int) -> Iterator[TimerEntry]:
        """Take out those that are due by now."""
        while self._heap and self._heap[0].due_ms <= now_ms:
            yield heapq.heappop(self._heap)
