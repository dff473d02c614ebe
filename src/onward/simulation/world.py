"""A world in which anything may go wrong between any two effects, driven by one seed.

Several workers handle messages at the same time, each one effect at a time, in an order the seed
decides. A worker may die before or after any effect; its message is then delivered again. A confirm
may get lost, so that a message is published twice. A message may be delivered again while its first
worker is still at work. A timer may fire twice. Time is virtual: it moves when nothing else can.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from onward.kernel.cells import MemoryCells
from onward.kernel.context import Ref
from onward.kernel.coordination import BarrierHead, Coordination
from onward.kernel.effects import (
    Asks,
    Begin,
    CancelTimer,
    Complete,
    Effect,
    Hasten,
    Items,
    Judgement,
    Load,
    Publish,
    Report,
    SetTimer,
    StorePayload,
    WriteLog,
)
from onward.kernel.history import visit_record_of
from onward.kernel.lineage import ROOT
from onward.kernel.messages import CompletionMessage, Token, encode_message, read_token
from onward.kernel.outcome import Outcome
from onward.kernel.program import Activity, Program
from onward.kernel.records import VisitKey, VisitRecord
from onward.kernel.signal_waits import SignalContent, signal_token
from onward.kernel.timestamps import LATEST_MS
from onward.kernel.verdicts import Drop, Park
from onward.runtime.token.context_reader import ContextReader
from onward.runtime.token.pipeline import NoAction, decide, storable
from onward.runtime.token.statuses import status_of
from onward.simulation.signals import Send

MAX_STEPS = 400_000
WORKERS = 3
MAX_DEATHS = 8
"""How often the workers of one message die at most: without an end of faults no run could end."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each thing goes wrong; all zero is a perfect world."""

    crash: float = 0.0
    duplicate: float = 0.0
    redeliver: float = 0.0
    reorder: bool = False
    lease: float = 0.0


CALM = Faults()
HARSH = Faults(crash=0.05, duplicate=0.05, redeliver=0.04, reorder=True, lease=0.2)
BRUTAL = Faults(crash=0.12, duplicate=0.12, redeliver=0.15, reorder=True, lease=0.4)

Behave = Callable[[Token, Activity, Random], Outcome]
"""Returns the outcome of an activity."""


@dataclass(slots=True)
class Witness:
    """What the checkers see when the world has come to rest."""

    completions: list[CompletionMessage] = field(default_factory=list)
    followed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Parent -> the outcomes whose children were executed."""
    windows: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Split -> the items that were published."""
    widest: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Split -> its node and how many items were in flight at most."""
    executions: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    verdicts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    steps: int = 0
    crashes: int = 0
    counted: int | None = None
    """How many of the completions must be the same one; None: all of them."""
    comparable: bool = True
    """Whether the result must be that of the reference."""


class World:
    """One run of one program under one seed."""

    def __init__(
        self,
        program: Program,
        behave: Behave,
        seed: int,
        faults: Faults,
        coordination: Callable[[MemoryCells], Coordination] = Coordination,
        sends: Sequence[Send] = (),
    ) -> None:
        self.program = program
        self.behave = behave
        self.faults = faults
        self.dice = Random(seed)  # noqa: S311  (a simulation wants a reproducible generator)
        self.rules = coordination
        self.states: dict[str, tuple[MemoryCells, Coordination]] = {}
        self.start: list[Token] = []
        self.queue: list[bytes] = []
        self.timers: dict[str, tuple[int, Token]] = {}
        self.payloads: dict[str, Raw] = {}
        self.reader = ContextReader(self._load)
        self.active: list[tuple[bytes, Iterator[None]]] = []
        self.now_ms = 1_700_000_000_000
        self.published = 0
        self.sends = sorted(sends, key=lambda send: send.at_s)
        self.signals: list[tuple[int, Token]] = []
        self.deaths: dict[bytes, int] = defaultdict(int)
        self.history: dict[VisitKey, VisitRecord] = {}
        self.witness = Witness()

    def run(self, given: Any) -> Witness:
        """Run to rest and return what was seen."""
        tokens, payloads = self.program.start(
            "exec", Raw(msgspec.json.encode(given)), now_ms=self.now_ms
        )
        for payload in payloads:
            self.payloads[payload.ref.hash] = payload.body
        self.start = tokens
        self.signals = [self._signal(send) for send in self.sends]
        self.state(tokens[0].state_id).answer(Begin())
        for token in tokens:
            self._publish(token)
        self._until_rest()
        return self.witness

    def _signal(self, send: Send) -> tuple[int, Token]:
        due_ms = self.now_ms + round(send.at_s * 1000)
        sent = SignalContent(at_ms=due_ms, value=Raw(msgspec.json.encode(send.value)))
        return due_ms, signal_token(self.start[0], send.address, send.signal_id, sent)

    def state(self, state_id: str) -> Coordination:
        """Return the coordination of one state of the run; it is empty before `Begin`."""
        return self._state(state_id)[1]

    def _state(self, state_id: str) -> tuple[MemoryCells, Coordination]:
        if state_id not in self.states:
            cells = MemoryCells()
            self.states[state_id] = cells, self.rules(cells)
        return self.states[state_id]

    def _until_rest(self) -> None:
        while self.queue or self.active or self.timers or self.signals:
            self.witness.steps += 1
            if self.witness.steps > MAX_STEPS:
                raise AssertionError("the world does not come to rest")
            self._turn()

    def _turn(self) -> None:
        """Let one thing happen: a delivery, one effect of one worker, or the next timer."""
        deliver = self.queue and len(self.active) < WORKERS
        if self.active and not (deliver and self.dice.random() < 0.5):
            self._advance(self.dice.randrange(len(self.active)) if self.faults.reorder else 0)
        elif self.queue:
            at = self.dice.randrange(len(self.queue)) if self.faults.reorder else 0
            message = self.queue.pop(at)
            self.active.append((message, self._handle(read_token(message))))
            if self.dice.random() < self.faults.redeliver:
                self.queue.append(message)  # the broker gave up on the worker, which still works
        else:
            self._fire()

    def _advance(self, index: int) -> None:
        message, worker = self.active[index]
        if self.deaths[message] < MAX_DEATHS and self.dice.random() < self.faults.crash:
            self.deaths[message] += 1
            self.witness.crashes += 1
            del self.active[index]
            self.queue.append(message)
            return
        try:
            next(worker)
        except StopIteration:
            del self.active[index]

    def _fire(self) -> None:
        first = min((due_ms for due_ms, _ in self.timers.values()), default=LATEST_MS)
        if self.signals and self.signals[0][0] <= first:
            due_ms, token = self.signals.pop(0)
            self.now_ms = max(self.now_ms, due_ms)
            self.send(token)
            return
        timer_id, (due_ms, token) = min(self.timers.items(), key=lambda item: item[1][0])
        if due_ms == LATEST_MS:
            raise AssertionError(
                f"{token.current_node} waits for ever for a signal: {token.awaits}"
            )
        self.now_ms = max(self.now_ms, due_ms)
        self._publish(token)
        if self.dice.random() < self.faults.lease:
            return  # the scheduler died between publishing and confirming: it fires again
        self.timers.pop(timer_id, None)

    def send_at(self, due_ms: int, signal: Token) -> None:
        """Send a signal to the run at `due_ms`."""
        insort(self.signals, (due_ms, signal), key=lambda timed: timed[0])

    def send(self, signal: Token) -> None:
        """Send a signal to the run."""
        self._publish(signal)

    def _publish(self, token: Token) -> None:
        for _ in range(2 if self.dice.random() < self.faults.duplicate else 1):
            self.published += 1
            sent = msgspec.structs.replace(token, publish_id=str(self.published))
            self.queue.append(encode_message(sent))

    def _load(self, _: str, ref: Ref) -> bytes:
        return bytes(self.payloads[ref.hash])

    # -- a worker: it may die at every yield ----------------------------------------------------

    def _handle(self, token: Token) -> Iterator[None]:
        verdict = self.state(token.state_id).claim(token)
        self.witness.verdicts[verdict.why if isinstance(verdict, Drop) else "run"] += 1
        yield
        while isinstance(verdict, Park):
            if self._park(token):
                return
            verdict = self.state(token.state_id).claim(token)
            yield
        decision = decide(self.program, token, verdict, self.reader, self.now_ms)
        if isinstance(decision, NoAction):
            return
        self.witness.followed[f"{token.state_id} {token.parent}"].add(token.outcome)
        if isinstance(decision, Activity):
            self._execute(token)
            decision = self.behave(token, decision, self.dice)
            yield
        judgement = decision if isinstance(decision, Iterator) else self._settle(token, decision)
        yield from self._perform(token, judgement)

    def _park(self, token: Token) -> bool:
        """Park the message of a run that is still paused; here none is ever paused."""
        return False

    def _execute(self, token: Token) -> None:
        self.witness.executions[token.token_id] += 1

    def _settle(self, token: Token, outcome: Any) -> Judgement[None]:
        return self.program.settle(token, storable(outcome), now_ms=self.now_ms, dice=0.0)

    def _perform(self, by: Token, judgement: Judgement[None]) -> Iterator[None]:
        answer: Any = None
        while True:
            try:
                effect = judgement.send(answer)
            except StopIteration:
                return
            answer = self._do(by, effect)
            yield

    def _do(self, by: Token, effect: Effect) -> Any:  # noqa: PLR0912
        match effect:
            case Publish(token):
                sent = msgspec.structs.replace(token, generation=by.generation)
                self._watch(sent)
                self._publish(sent)
            case SetTimer(token, due_ms):
                if self._state(by.state_id)[0].get(ROOT, "done", "") is None:
                    sent = msgspec.structs.replace(token, generation=by.generation)
                    self.timers.setdefault(f"{by.state_id} {token.token_id}", (due_ms, sent))
            case Hasten(token_id):
                name = f"{by.state_id} {token_id}"
                if name in self.timers:
                    self.timers[name] = (self.now_ms, self.timers[name][1])
            case CancelTimer(token_id):
                self.timers.pop(f"{by.state_id} {token_id}", None)
            case StorePayload(payload):
                self.payloads[payload.ref.hash] = payload.body
            case Complete(message):
                self.witness.completions.append(message)
                self._cancel_all(by.state_id)
            case Load():
                return self.payloads[effect.ref.hash]
            case Items():
                return self.reader.items("exec", effect.ref, effect.start, effect.count)
            case Report():
                self._report(effect)
            case WriteLog():
                pass
            case Asks():
                return self.state(by.state_id).answer(effect)
            case _:
                assert_never(effect)
        return None

    def _cancel_all(self, state_id: str) -> None:
        self.timers = {
            key: timer for key, timer in self.timers.items() if timer[1].state_id != state_id
        }

    def _report(self, report: Report) -> None:
        """Drop the report; worlds with a history save it."""

    def _save_visit(self, report: Report) -> None:
        visit = visit_record_of(status_of(report, self.now_ms, 0), self.now_ms)
        if visit is not None and visit.output_ref is None:
            self.history.setdefault(visit.key, visit)

    def _watch(self, token: Token) -> None:
        """Save how many items of a split are in flight when one is published."""
        if token.outcome != "item":
            return
        frame = token.lineage_stack[-1]
        split = f"{token.state_id} {frame.split_token}"
        self.witness.windows[split].add(frame.item_index)
        head = self._state(token.state_id)[0].get(frame.split_token, "head", "")
        filled = BarrierHead(*head).filled if head else frame.total_items
        flying = len(self.witness.windows[split]) - filled
        _, widest = self.witness.widest.get(split, ("", 0))
        self.witness.widest[split] = (frame.split_node_id, max(widest, flying))
