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
from functools import partial
from typing import Any, Self

import msgspec

from onward.errors import InputError, MessageError, StorageError
from onward.kernel.context import Payload
from onward.kernel.effects import Asks, R
from onward.kernel.json import encode
from onward.kernel.messages import CompletionMessage, RunMessage, Token, check_identifier
from onward.kernel.outcome import Outcome
from onward.kernel.program import Activity, Program
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.ports.clock import Chance, Clock
from onward.ports.nodes.outside import Log
from onward.ports.storage.journal import Journal
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.embedded.active_run import ActiveRun, AtomicCells
from onward.runtime.embedded.deferred_tokens import DeferredTokens
from onward.runtime.embedded.start import inherit, recall, remember
from onward.runtime.embedded.turn import TokenHandler, TurnBatch
from onward.runtime.token.start import DEFAULT_START, StartOptions, first_tokens
from onward.runtime.token.statuses import cancelled, fields_of, text_of

# -- What an engine can be asked about its journal: unfinished runs, and what runs came to.


class Looking:
    """Looks into a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

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
        """Return what every visited node of a run came to."""
        return list(self._journal.node_runs(execution_id))


# -- When something is to happen next in the runs of an embedded engine.


class TimerHeap:
    """Moments, each with the run and the timer that it is for."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str, str]] = []

    def set(self, due_ms: int, execution_id: str, timer_id: str) -> None:
        """Remember a timer."""
        heapq.heappush(self._heap, (due_ms, execution_id, timer_id))

    @property
    def first_ms(self) -> int | None:
        """When the first of them is due."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[tuple[str, str]]:
        """Take out what is due by now: the run and the timer of each."""
        while self._heap and self._heap[0][0] <= now_ms:
            _, execution_id, timer_id = heapq.heappop(self._heap)
            yield execution_id, timer_id


TURN_TOKENS = 2_000
"""At most this many tokens share a commit."""
TURN_SECONDS = 0.025
"""A turn that takes longer is committed as it is: latency for one is throughput for nobody."""
QUANTUM = 32
"""How many tokens of one run are handled before another run has its turn."""

Observe = Callable[[RunMessage], None]
Compile = Callable[[Definition], Program]

_completions = msgspec.json.Decoder(CompletionMessage)


class EmbeddedEngine(Looking):
    """Runs workflows durably. Use it as an async context manager.

    `observe` is called with every status and completion message, in order, after it is committed.
    `events` keeps a numbered log of what happens in each run, in the commit that makes it true.
    Leaving the context stops at a commit; what is unfinished goes on when it is resumed.
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
        super().__init__(journal)
        self._compile = compile_definition
        self._activities = activities
        self._clock = clock
        self._chance = chance
        self._log = log
        self._observers = list(observe)
        self._events = events
        self._free_slots = slots
        self._runs: dict[str, ActiveRun] = {}
        self._accepted: dict[str, asyncio.Future[None]] = {}
        self._rotation: deque[ActiveRun] = deque()
        self._starved: deque[ActiveRun] = deque()
        self._broken: Exception | None = None
        self._results: deque[tuple[ActiveRun, int, Token, Outcome, int]] = deque()
        self._alarms = TimerHeap()
        # Numbers of messages never repeat, also across restarts: they follow the clock.
        first = max(journal.last_message(), clock.now_ms() * 1000)
        self._turns = TokenHandler(journal, first, clock.now_ms, chance.dice, self._alarms.set)
        self._turns.lines = activities.node_logs
        self._wake = asyncio.Event()
        self._asking = DeferredTokens(activities.evaluators, self._wake)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="onward-journal")
        self._committing: asyncio.Task[None] | None = None
        self._loop_task: asyncio.Task[None] | None = None
        self._stopping = False

    async def __aenter__(self) -> Self:
        self._loop_task = asyncio.create_task(self._loop())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        self._wake.set()
        if self._loop_task is not None:
            await asyncio.wait([self._loop_task])
        tasks = [task for run in self._runs.values() for task in run.activities.values()]
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
        run = ActiveRun(execution_id, program, AtomicCells())
        tokens, payloads = first_tokens(program, execution_id, raw, now_ms, how)
        batch = self._turns.turn.batch
        batch.definitions.append(Definition(program.ref, program.workflow_id, source))
        batch.started.append(
            RunRecord(
                execution_id=execution_id,
                workflow_id=program.workflow_id,
                definition_ref=program.ref,
                status="running",
                started_ms=now_ms,
            )
        )
        if self._events:
            self._turns.keep_log(execution_id, now_ms, 0)
            remember(run, self._turns, tokens)
        self._turns.keep(run, payloads)
        inherit(run, self._turns, self._journal, tokens[0], how)
        self._turns.send(run, *tokens)
        self._accepted[execution_id] = accepted = asyncio.get_running_loop().create_future()
        self._admit(run)
        await accepted
        return execution_id

    def resume(self, execution_id: str) -> None:
        """Take up an unfinished run where its last commit left it; one that is served goes on."""
        if execution_id in self._runs:
            return
        execution = self._journal.execution(execution_id)
        if execution is None:
            raise InputError(f"there is no run called {execution_id}")
        if execution.status != "running":
            raise InputError(f"run {execution_id} has ended already: it is {execution.status}")
        definition = self._journal.definition(execution.definition_ref)
        if definition is None:
            raise StorageError(f"the definition of {execution_id} is not in the database")
        cells = AtomicCells(self._journal.cells(execution_id))
        run = ActiveRun(execution_id, self._compile(definition), cells)
        run.ready.extend(self._journal.messages(execution_id))
        recall(run, self._turns, self._journal)
        if self._events:
            last = self._journal.last_event(execution_id)
            self._turns.keep_log(execution_id, execution.started_ms, last)
        for due_ms, timer_id in self._journal.timers(execution_id):
            self._alarms.set(due_ms, execution_id, timer_id)
        self._admit(run)

    async def cancel(self, execution_id: str, reason: str = "") -> bool:
        """End a run as cancelled, and tell its running nodes; False when it is not served here.

        Returns once that is committed.
        """
        execution = self._journal.execution(execution_id)
        if execution is None:
            return False
        of, since_ms, now_ms = execution.workflow_id, execution.started_ms, self._clock.now_ms()
        return await self.end(cancelled(of, execution_id, since_ms, now_ms, reason))

    async def end(self, message: CompletionMessage) -> bool:
        """End a run as a message says, and tell its running nodes; False when another end came
        first or it is not served here. Returns once that is committed.
        """
        run = self._runs.get(message.execution_id)
        if run is None or run.ended:
            return False
        self._turns.end(run, message)
        self._wake.set()
        return await asyncio.shield(run.done) == message

    async def ask(self, execution_id: str, effect: Asks[R]) -> R | None:
        """Answer a question of the kernel about a run; None when it is not served here.

        Returns once what it changed is committed.
        """
        run = self._runs.get(execution_id)
        if run is None or run.ended:
            return None
        answer = self._turns.ask(run, effect)
        await self._committed(run)
        return answer

    async def send(self, token: Token, payloads: Sequence[Payload] = ()) -> bool:
        """Send a token to a run, once that is committed; False when it is not served here."""
        run = self._runs.get(token.execution_id)
        if run is None or run.ended:
            return False
        self._turns.keep(run, list(payloads))
        self._turns.send(run, token)
        await self._committed(run)
        return True

    async def _committed(self, run: ActiveRun) -> None:
        """Return once what the turn has gathered is committed."""
        self._enqueue(run)
        name = self._chance.publish_id()
        self._turns.turn.waiters.append(name)
        self._accepted[name] = committed = asyncio.get_running_loop().create_future()
        self._wake.set()
        await asyncio.shield(committed)

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
        execution = self._journal.execution(execution_id)
        if execution is None:
            raise InputError(f"there is no run called {execution_id}")
        if execution.completion is None:
            raise InputError(f"run {execution_id} is not being served here; resume it first")
        return _completions.decode(execution.completion)

    # -- the loop ------------------------------------------------------------------------------

    async def _loop(self) -> None:
        try:
            while not self._stopping:
                self._wake.clear()
                self._fire()
                self._work()
                if not await self._advance():
                    await self._clock.wait(self._wake, self._alarms.first_ms)
            if self._broken is None:
                await self._advance()
            if self._committing is not None:
                await self._committing
        except Exception as problem:
            self._break(problem)

    def _work(self) -> None:
        """Handle what is ready, until the turn is full or nothing can go on."""
        clock = asyncio.get_running_loop().time
        until = clock() + TURN_SECONDS
        while self._results:
            run, seq, token, outcome, duration_ms = self._results.popleft()
            if not run.ended:
                self._turns.settle(run, seq, token, outcome, duration_ms)
                self._enqueue(run)
        for asked in self._asking.taken():
            self._handle(asked.again)
            self._enqueue(asked.run)
        while self._turns.turn.handled < TURN_TOKENS and clock() < until:
            queue = self._starved if self._starved and self._free_slots > 0 else self._rotation
            if not queue:
                return
            run = queue.popleft()
            run.queued = False
            self._serve(run)

    def _serve(self, run: ActiveRun) -> None:
        for _ in range(QUANTUM * (1 + run.priority)):
            if run.ended or not run.ready or run.coordination.paused:
                return
            if self._free_slots <= 0 and self._turns.needs_slot(run):
                run.queued = True
                self._starved.append(run)
                return
            self._handle(partial(self._turns.handle, run))
        self._enqueue(run)

    def _handle(self, handle: Callable[[], None]) -> None:
        before = len(self._turns.turn.activities)
        handle()
        self._free_slots -= len(self._turns.turn.activities) - before

    def _enqueue(self, run: ActiveRun) -> None:
        if run.ready and not run.queued and not run.coordination.paused:
            run.queued = True
            self._rotation.append(run)

    async def _advance(self) -> bool:
        """Hand the turn to the writer, which has one commit in flight at most.

        Return whether there is more to do at once.
        """
        self._asking.ask(self._turns.put_off)
        if self._turns.pending():
            if self._committing is not None:
                await self._committing
            self._committing = asyncio.create_task(self._commit(self._turns.take()))
        await asyncio.sleep(0)
        more = self._rotation or self._results or self._asking.answered
        return bool(more or (self._starved and self._free_slots > 0))

    async def _commit(self, turn: TurnBatch) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._writer, self._journal.commit, turn.batch)
        except Exception as problem:
            self._break(problem)
            return
        self._turns.committed(turn)
        self._activities.callbacks.committed(turn.batch.consumed)
        for name in (*(one.execution_id for one in turn.batch.started), *turn.waiters):
            if name in self._accepted:
                self._accepted.pop(name).set_result(None)
        self._tell(turn)
        for run, message in turn.ended:
            self._finish(run, message)
        for run, seq, token, activity in turn.activities:
            run.activities[seq] = asyncio.create_task(self._run(run, seq, token, activity))
        self._wake.set()

    def _tell(self, turn: TurnBatch) -> None:
        for line in turn.lines:
            self._log.write(line.level, text_of(line.message), **fields_of(line.token))
        for news in turn.news:
            if news is not None:
                for observe in self._observers:
                    observe(news)

    async def _run(self, run: ActiveRun, seq: int, token: Token, activity: Activity) -> None:
        started_ms = self._clock.now_ms()
        try:
            if run.ended:
                return
            outcome = await self._activities.run(token, activity)
            duration_ms = self._clock.now_ms() - started_ms
            self._results.append((run, seq, token, outcome, duration_ms))
        except StorageError as problem:
            self._break(problem)
        finally:
            run.activities.pop(seq, None)
            self._free_slots += 1
            self._wake.set()

    def _finish(self, run: ActiveRun, message: CompletionMessage) -> None:
        for task in tuple(run.activities.values()):
            task.cancel()
        del self._runs[run.execution_id]
        run.done.set_result(message)

    def _break(self, problem: Exception) -> None:
        """The journal cannot be written: nothing can be promised any more, so everyone is told."""
        self._broken = problem
        self._stopping = True
        self._wake.set()
        waiters: list[asyncio.Future[Any]] = [run.done for run in self._runs.values()]
        for waiter in (*waiters, *self._accepted.values()):
            if not waiter.done():
                waiter.set_exception(problem)
                waiter.exception()  # taken note of here, also when nobody waits for it

    # -- timers --------------------------------------------------------------------------------

    def _fire(self) -> None:
        """Send the tokens whose time has come."""
        for execution_id, timer_id in self._alarms.due(self._clock.now_ms()):
            run = self._runs.get(execution_id)
            if run is not None and not run.ended:
                self._turns.fire(run, timer_id)
                self._enqueue(run)
