"""One turn of the embedded engine: handle tokens in memory, and gather what one commit must write.

Control nodes run at once, also on tokens that are not committed yet: they touch nothing but the
batch, and the batch is all or nothing. An activity starts only when the commit that holds its token
is done, so what the world sees is never ahead of what the journal knows. News of either kind is
told after the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

import msgspec

from onward.errors import MessageError, OnwardError
from onward.expressions.time_slice import TimeSlice, TimeSliceExceeded
from onward.kernel.context import Payload, Ref
from onward.kernel.effects import (
    Asks,
    CancelTimer,
    Complete,
    Effect,
    Hasten,
    Items,
    Judgement,
    Load,
    Publish,
    R,
    Record,
    Report,
    SetTimer,
    Stands,
    StorePayload,
    WriteLog,
)
from onward.kernel.history import visit_record_of
from onward.kernel.messages import (
    CompletionMessage,
    RunMessage,
    Token,
    encode_message,
    read_token,
)
from onward.kernel.outcome import Outcome
from onward.kernel.program import Activity
from onward.kernel.records import QuarantineRecord, RunRecord
from onward.kernel.run_events import (
    EventDrafts,
    ended_event,
    number_events,
    pause_event,
    started_event,
)
from onward.kernel.verdicts import Verdict
from onward.ports.storage.journal import Journal, JournalCommit
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.embedded.active_run import ActiveRun
from onward.runtime.embedded.deferred_tokens import DeferredToken
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import NoAction, decide, perform, storable
from onward.runtime.token.statuses import failed, running, status_of, text_of

# -- What one turn of the embedded engine gathers for its commit, and for the time after it.


@dataclass(slots=True)
class TurnBatch:
    """What a turn has gathered: the batch, and what is to be done once it is committed."""

    batch: JournalCommit = field(default_factory=JournalCommit)
    news: list[RunMessage | None] = field(default_factory=list)
    activities: list[tuple[ActiveRun, int, Token, Activity]] = field(default_factory=list)
    lines: list[WriteLog] = field(default_factory=list)
    ended: list[tuple[ActiveRun, CompletionMessage]] = field(default_factory=list)
    touched: dict[str, ActiveRun] = field(default_factory=dict)
    progress: dict[str, int] = field(default_factory=dict)
    events: EventDrafts = field(default_factory=EventDrafts)
    handled: int = 0
    waiters: list[str] = field(default_factory=list)
    """What somebody waits for to be committed."""


class TokenHandler:
    """Handles tokens, one turn after another. Everything here is synchronous and in memory."""

    def __init__(
        self,
        journal: Journal,
        last_message: int,
        now: Callable[[], int],
        dice: Callable[[], float],
        wake_at: Callable[[int, str, str], None],
    ) -> None:
        self._journal = journal
        self._now = now
        self._dice = dice
        self._wake_at = wake_at
        self._seq = last_message
        self._fresh: dict[tuple[str, str], bytes] = {}
        self._sent: list[tuple[int, Token]] = []
        self.uncommitted_timers: dict[str, Token] = {}
        self._logs: dict[str, int] = {}
        """The number of the last event of each run that has an event log."""
        self.lines: NodeLogBuffer | None = None
        self.reader = ContextReader(self._load)
        self.put_off: list[DeferredToken] = []
        self.turn = TurnBatch()

    def take(self) -> TurnBatch:
        """Return the turn so far, with the cells it changed, and begin the next one."""
        turn, self.turn = self.turn, TurnBatch()
        for run in turn.touched.values():
            if not run.ended:
                turn.batch.cells[run.execution_id] = run.cells.take()
        for execution_id, events in turn.events.take().items():
            last = self._logs[execution_id]
            self._logs[execution_id] = last + len(events)
            turn.batch.events += number_events(execution_id, events, last)
        for run, _ in turn.ended:
            self._logs.pop(run.execution_id, None)
        return turn

    def keep_log(self, execution_id: str, started_ms: int, last: int) -> None:
        """Write the events of a run from now on, after number `last`."""
        self._logs[execution_id] = last
        if last == 0:
            self.turn.events.add_event(execution_id, started_event(started_ms))

    def committed(self, turn: TurnBatch) -> None:
        """Forget what was only kept because it was not committed."""
        for execution_id, payload in turn.batch.payloads:
            self._fresh.pop((execution_id, payload.ref.hash), None)
        for timer_id in turn.batch.timers:
            self.uncommitted_timers.pop(timer_id, None)

    # -- tokens --------------------------------------------------------------------------------

    def pending(self) -> bool:
        """Return whether there is anything to commit."""
        turn = self.turn
        return bool(turn.touched or turn.batch.started or turn.batch.sent)

    def keep(self, run: ActiveRun, payloads: list[Payload]) -> None:
        """Store payloads with the next commit; they can be read at once."""
        for payload in payloads:
            self._fresh[run.execution_id, payload.ref.hash] = bytes(payload.body)
            self.turn.batch.payloads.append((run.execution_id, payload))

    def peek(self, run: ActiveRun) -> Token | None:
        """Return the next token of a run without handling it; None if it cannot be read."""
        seq, waiting = run.ready[0]
        if isinstance(waiting, bytes):
            try:
                waiting = read_token(waiting)
            except msgspec.MsgspecError:
                return None
            run.ready[0] = (seq, waiting)
        return waiting

    def needs_slot(self, run: ActiveRun) -> bool:
        """Return whether what a run does next touches the world."""
        token = self.peek(run)
        return token is not None and run.program.runs_activity(token)

    def fire(self, run: ActiveRun, timer_id: str) -> None:
        """A timer is due: its token is sent and the timer is gone, in one commit."""
        self._release(run, timer_id)
        # Behind what waits: of two timers that are due, the earlier one counts.
        run.ready.extend(self._sent)
        self._sent.clear()

    def _release(self, run: ActiveRun, timer_id: str) -> None:
        """Send the token of a timer, which is then gone; nothing when it is gone already."""
        cancelled = (run.execution_id, timer_id)
        token = self.uncommitted_timers.pop(timer_id, None)
        if token is None:
            body = self._journal.timer(*cancelled)
            if body is None or cancelled in self.turn.batch.cancelled:
                return
            try:
                token = read_token(body)
            except Exception as problem:
                self._quarantine(run, None, body, problem)
                return
        self.turn.batch.timers.pop(timer_id, None)
        self.turn.batch.cancelled.append(cancelled)
        self._number(token)

    def send(self, run: ActiveRun, *tokens: Token) -> None:
        """Give each token its number and its place in the queue."""
        for token in tokens:
            self._number(token)
        self._line_up(run)

    def _line_up(self, run: ActiveRun) -> None:
        """Let what was just sent go before what waits, in the order it was sent.

        What is begun is finished before more is begun: an item of a split reaches its barrier
        while its scope is still uncommitted, and then neither is ever written.
        """
        run.ready.extendleft(reversed(self._sent))
        self._sent.clear()

    def _number(self, token: Token) -> None:
        self._seq += 1
        token = msgspec.structs.replace(token, publish_id=str(self._seq))
        self.turn.batch.sent[self._seq] = token
        self._sent.append((self._seq, token))

    def handle(self, run: ActiveRun) -> None:
        """Handle the next token of a run."""
        seq, waiting = run.ready.popleft()
        self.turn.handled += 1
        try:
            token = waiting if isinstance(waiting, Token) else read_token(waiting)
            self._visit(run, seq, token)
        except Exception as problem:
            self._quarantine(run, seq, waiting, problem)

    def _visit(self, run: ActiveRun, seq: int, token: Token) -> None:
        if not run.program.has_node(token):
            raise MessageError(f"the workflow has no node {token.current_node!r}")
        verdict, now_ms, pace = run.coordination.claim(token), self._now(), TimeSlice()
        go_on = partial(self._go_on, run, seq, token, verdict, now_ms, pace)
        self._attempt(run, seq, token, pace, go_on)

    def _attempt(
        self, run: ActiveRun, seq: int, token: Token, pace: TimeSlice, work: Callable[[], None]
    ) -> None:
        """Do what may be too long to do at once: it is then put off, with its question."""
        self.turn.touched[run.execution_id] = run
        try:
            work()
        except TimeSliceExceeded as lengthy:
            attempt = partial(self._attempt, run, seq, token, pace, work)
            self.put_off.append(DeferredToken(run, seq, lengthy, pace, attempt))
        except Exception as problem:
            self._quarantine(run, seq, token, problem)

    def _go_on(
        self, run: ActiveRun, seq: int, token: Token, verdict: Verdict, now_ms: int, pace: TimeSlice
    ) -> None:
        doing = decide(run.program, token, verdict, self.reader, now_ms, pace)
        if isinstance(doing, NoAction):
            self._consume(seq)
        elif isinstance(doing, Activity):
            self._tell_running(run, token)
            self.turn.activities.append((run, seq, token, doing))
        elif isinstance(doing, Outcome):
            if not token.signal:
                self._tell_running(run, token)
            self.settle(run, seq, token, doing, 0)
        else:
            self._perform(run, doing, 0, None)
            self._consume(seq)

    def _tell_running(self, run: ActiveRun, token: Token) -> None:
        if (token.token_id, token.current_node) in run.kept:
            return
        status = running(token, self._now())
        self.turn.news.append(status)
        if token.execution_id in self._logs:
            self.turn.events.add_status(status)

    def settle(
        self, run: ActiveRun, seq: int, token: Token, outcome: Outcome, duration_ms: int
    ) -> None:
        """Do everything that follows from what a node came to; its message is then consumed."""
        now_ms, dice, came_to, pace = self._now(), self._dice(), storable(outcome), TimeSlice()

        def conclude() -> None:
            judgement = run.program.settle(token, came_to, now_ms=now_ms, dice=dice)
            self._perform(run, judgement, duration_ms, pace)
            self._consume(seq)

        self._attempt(run, seq, token, pace, conclude)

    def _consume(self, seq: int) -> None:
        # A token that was sent and consumed between two commits is never written at all.
        if self.turn.batch.sent.pop(seq, None) is None:
            self.turn.batch.consumed.append(seq)

    def _quarantine(
        self, run: ActiveRun, seq: int | None, waiting: Token | bytes, problem: Exception
    ) -> None:
        """Put a message that can never be handled aside, and end its run: it cannot complete.

        Whatever the handling had already put into the batch for this run ends with it, so nothing
        half-done is left, and the engine goes on with the other runs.
        """
        now_ms = self._now()
        body = waiting if isinstance(waiting, bytes) else encode_message(waiting)
        known = isinstance(problem, OnwardError | msgspec.MsgspecError)
        reason = str(problem) if known else f"internal error: {problem!r}"
        if seq is not None:
            self._consume(seq)
        self.turn.batch.quarantined.append(
            QuarantineRecord(execution_id=run.execution_id, reason=reason, body=body, at_ms=now_ms)
        )
        known_run = self._journal.execution(run.execution_id)
        began = known_run.started_ms if known_run else now_ms
        self.end(run, failed(run.program.workflow_id, run.execution_id, began, now_ms, reason))

    def end(self, run: ActiveRun, message: CompletionMessage) -> None:
        """End a run now, wherever its tokens are."""
        self.turn.touched[run.execution_id] = run
        self._end(run, message)

    def ask(self, run: ActiveRun, effect: Asks[R]) -> R:
        """Answer a question about a run from outside; what it changes is in the next commit."""
        self.turn.touched[run.execution_id] = run
        before = run.coordination.paused
        answer = run.coordination.answer(effect)
        after = run.coordination.paused
        if before != after and run.execution_id in self._logs:
            self.turn.events.add_event(run.execution_id, pause_event(self._now(), paused=after))
        return answer

    # -- effects -------------------------------------------------------------------------------

    def _perform(
        self, run: ActiveRun, judgement: Judgement[None], ms: int, pace: TimeSlice | None
    ) -> None:
        perform(judgement, lambda effect: self._do(run, effect, ms), pace)
        self._line_up(run)

    def _do(self, run: ActiveRun, effect: Effect, duration_ms: int) -> Any:  # noqa: PLR0912
        match effect:
            case Publish(token):
                self._number(token)
            case Report():
                self._report(run, effect, duration_ms)
            case Record():
                # One commit holds the outcome and all its effects: nothing can come between.
                return Stands(effect.outcome)
            case Load():
                return msgspec.Raw(self._load(run.execution_id, effect.ref))
            case Items():
                return self.reader.items(run.execution_id, effect.ref, effect.start, effect.count)
            case Asks():
                return run.coordination.answer(effect)
            case StorePayload(payload):
                self.keep(run, [payload])
            case SetTimer(token, due_ms):
                self._set_timer(run, token, due_ms)
            case Hasten(token_id):
                self._release(run, token_id)
            case CancelTimer(token_id):
                self.turn.batch.timers.pop(token_id, None)
                self.uncommitted_timers.pop(token_id, None)
                self.turn.batch.cancelled.append((run.execution_id, token_id))
            case WriteLog():
                self.turn.lines.append(effect)
                if self.lines is not None:
                    self.lines.add(effect.token, effect.level, text_of(effect.message), {})
            case Complete(message):
                self._end(run, message)
            case _:
                assert_never(effect)
        return None

    def _set_timer(self, run: ActiveRun, token: Token, due_ms: int) -> None:
        if due_ms <= self._now():
            self._number(token)
            return
        if token.token_id not in self.turn.batch.timers:
            self.turn.batch.timers[token.token_id] = (due_ms, token)
            self.uncommitted_timers[token.token_id] = token
            self._wake_at(due_ms, run.execution_id, token.token_id)

    def _report(self, run: ActiveRun, report: Report, duration_ms: int) -> None:
        if (report.token.token_id, report.node) in run.kept:
            return
        now_ms = self._now()
        log = self.lines.take(report.token, report.node) if self.lines is not None else ()
        status = status_of(report, now_ms, duration_ms, log)
        node_run = visit_record_of(status, now_ms)
        if node_run is not None:
            self.turn.batch.node_runs.append(node_run)
        if status.execution_id in self._logs:
            self.turn.events.add_status(status)
        if report.merge_key and report.progress and report.progress.total > 20:
            # Of a storm of progress only the newest in a commit is news.
            earlier = self.turn.progress.get(report.merge_key)
            if earlier is not None:
                self.turn.news[earlier] = None
            self.turn.progress[report.merge_key] = len(self.turn.news)
        self.turn.news.append(status)

    def _end(self, run: ActiveRun, message: CompletionMessage) -> None:
        if run.ended:
            return
        run.ended = True
        waiting = (*run.ready, *self._sent)
        run.ready.clear()
        self._sent.clear()
        batch = self.turn.batch
        batch.ended.append(
            RunRecord(
                execution_id=run.execution_id,
                workflow_id=run.program.workflow_id,
                definition_ref=run.program.ref,
                status=message.status,
                started_ms=0,
                ended_ms=self._now(),
                completion=encode_message(message),
            )
        )
        for seq, _ in waiting:
            batch.sent.pop(seq, None)
        if run.execution_id in self._logs:
            self.turn.events.add_event(run.execution_id, ended_event(message))
        self.turn.news.append(message)
        self.turn.ended.append((run, message))

    def _load(self, execution_id: str, ref: Ref) -> bytes:
        fresh = self._fresh.get((execution_id, ref.hash))
        return fresh if fresh is not None else self._journal.payload(execution_id, ref)
