"""One turn of the embedded engine: handle tokens in memory, and gather what one commit must write.

Control nodes run at once, also on tokens that are not committed yet: they touch nothing but the
batch, and the batch is all or nothing. An activity starts only when the commit that holds its token
is done, so what the world sees is never ahead of what the journal knows. Status and completion
messages are published after the commit.

First what a turn gathers (`TurnBatch`), then how tokens are handled (`TokenHandler`): where they
come from, how one is handled, and what its effects do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

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
from onward.runtime.embedded.active_run import ActiveRun, QueuedToken
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import NoAction, decide, perform, storable
from onward.runtime.token.statuses import quarantine_of, running_status_of, status_of, text_of

MANY_ITEMS = 20
"""Of a split with more items only the newest progress in a commit is published."""


class Visit(NamedTuple):
    """A token that was claimed, and waits for the decision what to do."""

    run: ActiveRun
    seq: int
    token: Token
    time_slice: TimeSlice
    verdict: Verdict
    now_ms: int


class Settlement(NamedTuple):
    """A token whose node has an outcome, and waits for the judgement of it."""

    run: ActiveRun
    seq: int
    token: Token
    time_slice: TimeSlice
    outcome: Outcome
    duration_ms: int
    now_ms: int
    dice: float


class DeferredToken(NamedTuple):
    """A token whose handling waits for the result of a long evaluation; it is then repeated."""

    work: Visit | Settlement
    exceeded: TimeSliceExceeded


class PendingActivity(NamedTuple):
    """An activity that starts after the commit."""

    run: ActiveRun
    seq: int
    token: Token
    activity: Activity


class ActivityResult(NamedTuple):
    """The outcome of an activity, which the next turn settles."""

    run: ActiveRun
    seq: int
    token: Token
    outcome: Outcome
    duration_ms: int


class EndedRun(NamedTuple):
    """A run that has ended, and how."""

    run: ActiveRun
    message: CompletionMessage


@dataclass(slots=True)
class TurnBatch:
    """What a turn has gathered: its commit, and what is to be done after it."""

    commit: JournalCommit = field(default_factory=JournalCommit)
    messages: list[RunMessage | None] = field(default_factory=list)
    """Statuses and completions; None for one that a later one replaces."""
    activities: list[PendingActivity] = field(default_factory=list)
    log_lines: list[WriteLog] = field(default_factory=list)
    ended: list[EndedRun] = field(default_factory=list)
    touched: dict[str, ActiveRun] = field(default_factory=dict)
    """The runs whose cells may have changed."""
    progress: dict[str, int] = field(default_factory=dict)
    """Where in `messages` the newest progress of each split is."""
    events: EventDrafts = field(default_factory=EventDrafts)
    handled: int = 0
    """How many tokens."""
    waiters: list[str] = field(default_factory=list)
    """The names under which callers wait for the commit."""


class TokenHandler:
    """Handles tokens, one turn after another. Everything here is synchronous and in memory."""

    def __init__(
        self,
        journal: Journal,
        last_message: int,
        now: Callable[[], int],
        dice: Callable[[], float],
        set_alarm: Callable[[int, str, str], None],
        node_logs: NodeLogBuffer | None = None,
    ) -> None:
        self._journal = journal
        self._seq = last_message
        self._now = now
        self._dice = dice
        self._set_alarm = set_alarm
        self._node_logs = node_logs
        self._uncommitted_payloads: dict[tuple[str, str], bytes] = {}
        self._uncommitted_timers: dict[str, Token] = {}
        self._sent: list[QueuedToken] = []
        """What the token in hand has sent so far."""
        self._event_logs: dict[str, int] = {}
        """The number of the last event of each run that has an event log."""
        self._reader = ContextReader(self._load)
        self.deferred: list[DeferredToken] = []
        self.turn = TurnBatch()

    # -- turns ---------------------------------------------------------------------------------

    def take(self) -> TurnBatch:
        """Return the turn so far, with the cells it changed, and begin the next one."""
        turn, self.turn = self.turn, TurnBatch()
        for run in turn.touched.values():
            if not run.ended:
                turn.commit.cells[run.execution_id] = run.cells.take()
        for execution_id, events in turn.events.take().items():
            last = self._event_logs[execution_id]
            self._event_logs[execution_id] = last + len(events)
            turn.commit.events += number_events(execution_id, events, last)
        for run, _ in turn.ended:
            self._event_logs.pop(run.execution_id, None)
        return turn

    def has_changes(self) -> bool:
        """Return whether there is anything to commit."""
        turn = self.turn
        return bool(turn.touched or turn.commit.started or turn.commit.sent)

    def forget_committed(self, turn: TurnBatch) -> None:
        """Forget what was only held because it was not committed."""
        for execution_id, payload in turn.commit.payloads:
            self._uncommitted_payloads.pop((execution_id, payload.ref.hash), None)
        for timer_id in turn.commit.timers:
            self._uncommitted_timers.pop(timer_id, None)

    def open_event_log(self, execution_id: str, started_ms: int, last: int) -> None:
        """Write the events of a run from now on, after number `last`."""
        self._event_logs[execution_id] = last
        if last == 0:
            self.turn.events.add_event(execution_id, started_event(started_ms))

    # -- tokens and timers ---------------------------------------------------------------------

    def store(self, run: ActiveRun, payloads: list[Payload]) -> None:
        """Store payloads with the next commit; they can be read at once."""
        for payload in payloads:
            key = (run.execution_id, payload.ref.hash)
            self._uncommitted_payloads[key] = bytes(payload.body)
            self.turn.commit.payloads.append((run.execution_id, payload))

    def send(self, run: ActiveRun, *tokens: Token) -> None:
        """Give each token its number and its place in the queue."""
        for token in tokens:
            self._send(token)
        self._queue_sent(run)

    def _send(self, token: Token) -> None:
        self._seq += 1
        token = msgspec.structs.replace(token, publish_id=str(self._seq))
        self.turn.commit.sent[self._seq] = token
        self._sent.append(QueuedToken(self._seq, token))

    def _queue_sent(self, run: ActiveRun) -> None:
        """Queue what was just sent before what waits, in the order it was sent.

        What is begun is finished before more is begun: an item of a split reaches its barrier
        while its scope is still uncommitted, and then neither is ever written.
        """
        run.ready.extendleft(reversed(self._sent))
        self._sent.clear()

    def peek(self, run: ActiveRun) -> Token | None:
        """Return the next token of a run without handling it; None if it cannot be read."""
        seq, token = run.ready[0]
        if isinstance(token, bytes):
            try:
                token = read_token(token)
            except msgspec.MsgspecError:
                return None
            run.ready[0] = QueuedToken(seq, token)
        return token

    def needs_slot(self, run: ActiveRun) -> bool:
        """Return whether the next token of a run starts an activity."""
        token = self.peek(run)
        return token is not None and run.program.runs_activity(token)

    def fire_timer(self, run: ActiveRun, timer_id: str) -> None:
        """Send the token of a timer that is due; the timer is gone in the same commit."""
        self._release_timer(run, timer_id)
        # Behind what waits: of two timers that are due, the earlier one counts.
        run.ready.extend(self._sent)
        self._sent.clear()

    def _release_timer(self, run: ActiveRun, timer_id: str) -> None:
        """Send the token of a timer, which is then gone; nothing when it is gone already."""
        key = (run.execution_id, timer_id)
        token = self._uncommitted_timers.pop(timer_id, None)
        if token is None:
            body = self._journal.timer(*key)
            if body is None or key in self.turn.commit.cancelled:
                return
            try:
                token = read_token(body)
            except Exception as problem:
                self._quarantine(run, None, body, problem)
                return
        self.turn.commit.timers.pop(timer_id, None)
        self.turn.commit.cancelled.append(key)
        self._send(token)

    # -- handling ------------------------------------------------------------------------------

    def handle(self, run: ActiveRun) -> None:
        """Handle the next token of a run."""
        seq, queued = run.ready.popleft()
        self.turn.handled += 1
        try:
            token = queued if isinstance(queued, Token) else read_token(queued)
            if not run.program.has_node(token):
                raise MessageError(f"the workflow has no node {token.current_node!r}")
            verdict = run.coordination.claim(token)
            visit = Visit(run, seq, token, TimeSlice(), verdict, self._now())
        except Exception as problem:
            self._quarantine(run, seq, queued, problem)
        else:
            self.attempt(visit)

    def settle(self, result: ActivityResult) -> None:
        """Do everything that follows from an outcome; its message is then consumed."""
        run, seq, token, outcome, duration_ms = result
        now_ms, dice = self._now(), self._dice()
        self.attempt(
            Settlement(run, seq, token, TimeSlice(), storable(outcome), duration_ms, now_ms, dice)
        )

    def attempt(self, work: Visit | Settlement) -> None:
        """Do what may take too long to do at once: it is then deferred, with its question."""
        self.turn.touched[work.run.execution_id] = work.run
        try:
            if isinstance(work, Visit):
                self._visit(work)
            else:
                self._judge(work)
        except TimeSliceExceeded as exceeded:
            self.deferred.append(DeferredToken(work, exceeded))
        except Exception as problem:
            self._quarantine(work.run, work.seq, work.token, problem)

    def _visit(self, visit: Visit) -> None:
        run, seq, token, time_slice, verdict, now_ms = visit
        action = decide(run.program, token, verdict, self._reader, now_ms, time_slice)
        if isinstance(action, NoAction):
            self._consume(seq)
        elif isinstance(action, Activity):
            self._report_running(run, token)
            self.turn.activities.append(PendingActivity(run, seq, token, action))
        elif isinstance(action, Outcome):
            if not token.signal:
                self._report_running(run, token)
            self.settle(ActivityResult(run, seq, token, action, 0))
        else:
            self._perform(run, action, 0, None)
            self._consume(seq)

    def _judge(self, settlement: Settlement) -> None:
        run, seq, token, time_slice, outcome, duration_ms, now_ms, dice = settlement
        judgement = run.program.settle(token, outcome, now_ms=now_ms, dice=dice)
        self._perform(run, judgement, duration_ms, time_slice)
        self._consume(seq)

    def _consume(self, seq: int) -> None:
        # A token that was sent and consumed between two commits is never written at all.
        if self.turn.commit.sent.pop(seq, None) is None:
            self.turn.commit.consumed.append(seq)

    def _quarantine(
        self, run: ActiveRun, seq: int | None, message: Token | bytes, problem: Exception
    ) -> None:
        """Quarantine a message that can never be handled, and end its run: it cannot complete.

        Whatever the handling had already put into the batch for this run ends with it, so nothing
        half-done is left, and the engine continues with the other runs.
        """
        now_ms = self._now()
        body = message if isinstance(message, bytes) else encode_message(message)
        known = isinstance(problem, OnwardError | msgspec.MsgspecError)
        reason = str(problem) if known else f"internal error: {problem!r}"
        if seq is not None:
            self._consume(seq)
        self.turn.commit.quarantined.append(
            QuarantineRecord(execution_id=run.execution_id, reason=reason, body=body, at_ms=now_ms)
        )
        record = self._journal.execution(run.execution_id) or RunRecord(
            execution_id=run.execution_id,
            workflow_id=run.program.workflow_id,
            definition_ref=run.program.ref,
            status="running",
            started_ms=now_ms,
        )
        self.end(run, quarantine_of(record, reason, now_ms))

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
        if before != after and run.execution_id in self._event_logs:
            self.turn.events.add_event(run.execution_id, pause_event(self._now(), paused=after))
        return answer

    # -- effects -------------------------------------------------------------------------------

    def _perform(
        self,
        run: ActiveRun,
        judgement: Judgement[None],
        duration_ms: int,
        time_slice: TimeSlice | None,
    ) -> None:
        perform(judgement, lambda effect: self._do(run, effect, duration_ms), time_slice)
        self._queue_sent(run)

    def _do(self, run: ActiveRun, effect: Effect, duration_ms: int) -> Any:  # noqa: PLR0912
        match effect:
            case Publish(token):
                self._send(token)
            case Report():
                self._report(run, effect, duration_ms)
            case Record():
                # One commit holds the outcome and all its effects: nothing can come between.
                return Stands(effect.outcome)
            case Load():
                return msgspec.Raw(self._load(run.execution_id, effect.ref))
            case Items():
                return self._reader.items(run.execution_id, effect.ref, effect.start, effect.count)
            case Asks():
                return run.coordination.answer(effect)
            case StorePayload(payload):
                self.store(run, [payload])
            case SetTimer(token, due_ms):
                self._set_timer(run, token, due_ms)
            case Hasten(token_id):
                self._release_timer(run, token_id)
            case CancelTimer(token_id):
                self.turn.commit.timers.pop(token_id, None)
                self._uncommitted_timers.pop(token_id, None)
                self.turn.commit.cancelled.append((run.execution_id, token_id))
            case WriteLog():
                self.turn.log_lines.append(effect)
                if self._node_logs is not None:
                    self._node_logs.add(effect.token, effect.level, text_of(effect.message), {})
            case Complete(message):
                self._end(run, message)
            case _:
                assert_never(effect)
        return None

    def _set_timer(self, run: ActiveRun, token: Token, due_ms: int) -> None:
        if due_ms <= self._now():
            self._send(token)
            return
        if token.token_id not in self.turn.commit.timers:
            self.turn.commit.timers[token.token_id] = (due_ms, token)
            self._uncommitted_timers[token.token_id] = token
            self._set_alarm(due_ms, run.execution_id, token.token_id)

    def _report_running(self, run: ActiveRun, token: Token) -> None:
        if (token.token_id, token.current_node) in run.inherited:
            return
        status = running_status_of(token, self._now())
        self.turn.messages.append(status)
        if token.execution_id in self._event_logs:
            self.turn.events.add_status(status)

    def _report(self, run: ActiveRun, report: Report, duration_ms: int) -> None:
        if (report.token.token_id, report.node) in run.inherited:
            return
        now_ms = self._now()
        logs = self._node_logs
        lines = logs.take(report.token, report.node) if logs is not None else ()
        status = status_of(report, now_ms, duration_ms, lines)
        visit = visit_record_of(status, now_ms)
        if visit is not None:
            self.turn.commit.node_runs.append(visit)
        if status.execution_id in self._event_logs:
            self.turn.events.add_status(status)
        if report.merge_key and report.progress and report.progress.total > MANY_ITEMS:
            earlier = self.turn.progress.get(report.merge_key)
            if earlier is not None:
                self.turn.messages[earlier] = None
            self.turn.progress[report.merge_key] = len(self.turn.messages)
        self.turn.messages.append(status)

    def _end(self, run: ActiveRun, message: CompletionMessage) -> None:
        if run.ended:
            return
        run.ended = True
        waiting = (*run.ready, *self._sent)
        run.ready.clear()
        self._sent.clear()
        commit = self.turn.commit
        commit.ended.append(
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
            commit.sent.pop(seq, None)
        if run.execution_id in self._event_logs:
            self.turn.events.add_event(run.execution_id, ended_event(message))
        self.turn.messages.append(message)
        self.turn.ended.append(EndedRun(run, message))

    def _load(self, execution_id: str, ref: Ref) -> bytes:
        payload = self._uncommitted_payloads.get((execution_id, ref.hash))
        return payload if payload is not None else self._journal.payload(execution_id, ref)
