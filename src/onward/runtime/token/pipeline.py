"""Handling one token, without knowing where: the steps between a delivery and its effects.

    claim -> step -> (run the activity) -> settle -> perform

The embedded engine and the simulator drive exactly these functions; they differ only in what an
effect does and in what may happen between two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from onward.errors import MessageError
from onward.expressions.time_slice import TimeSlice, within_time_slice
from onward.kernel.effects import Effect, Items, Judgement, Load
from onward.kernel.json import encode
from onward.kernel.messages import Token
from onward.kernel.outcome import Failed, NodeError, Outcome, Succeeded
from onward.kernel.program import Activity, Program
from onward.kernel.signal_waits import deliver
from onward.kernel.verdicts import Drop, Execute, Finish, Park, Verdict
from onward.runtime.token.context_reader import ContextReader

OUTPUT_LIMIT = 64 * 1024 * 1024
"""The largest output of a node, in bytes of JSON."""
VISIT_SIGNALS = frozenset({"", "resume"})

_outcomes: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)


class NoAction(msgspec.Struct, frozen=True):
    """The token needs no handling: acknowledge it."""

    why: str


Next = NoAction | Judgement[None] | Activity | Outcome


def decide(
    program: Program,
    token: Token,
    verdict: Verdict,
    read: ContextReader,
    now_ms: int,
    pace: TimeSlice | None = None,
) -> Next:
    """Return what a claimed token asks for: nothing, a judgement, an activity, or an outcome.

    At a `pace`, Lengthy may come out of it.
    """
    match verdict:
        case Drop(why):
            return NoAction(why)
        case Park():
            return NoAction("parked")
        case Finish(depth):
            return program.finish(token, depth, now_ms=now_ms)
        case Execute(recorded):
            if token.signal == "signal":
                return deliver(token)
            if token.signal not in VISIT_SIGNALS and not (recorded and token.signal == "awaited"):
                return program.wake(token, now_ms=now_ms)
            if recorded is not None:
                return _outcomes.decode(recorded)
            with within_time_slice(pace):
                return program.step(token, read.view(program, token))


def storable(outcome: Outcome) -> Outcome:
    """Return the outcome if it can be kept as JSON, else the failure that says why not."""
    match outcome:
        case Succeeded(output):
            try:
                kept = encode(output)
            except MessageError as problem:
                message = f"the node's output cannot be kept: {problem}"
                return Failed(NodeError(message, "OUTPUT_INVALID"))
            if len(kept) > OUTPUT_LIMIT:
                message = (
                    f"the node's output has {len(kept)} bytes, more than {OUTPUT_LIMIT}:"
                    " keep it elsewhere and return where"
                )
                return Failed(NodeError(message, "OUTPUT_TOO_LARGE"))
            return Succeeded(kept)
        case Failed(error):
            try:
                encode(error)
                return outcome
            except MessageError as problem:
                why = {"details_lost": str(problem)}
                return Failed(NodeError(_text(error.message), _text(error.code), why))
        case _:
            return outcome


def _text(text: object) -> str:
    """Return text that is Unicode for certain."""
    return str(text).encode("utf-8", "replace").decode()


def perform(
    judgement: Judgement[None], do: Callable[[Effect], Any], pace: TimeSlice | None = None
) -> None:
    """Do every effect of a judgement, in order, feeding each answer back.

    At a `pace`, Lengthy may come out of it before anything but reading is done.
    """
    answer = None
    try:
        while True:
            effect = next_effect(judgement, answer, pace)
            pace = pace if isinstance(effect, READING) else None
            answer = do(effect)
    except StopIteration:
        return


READING = (Load, Items)
"""Effects that change nothing: whatever asks for them can be begun again."""


def next_effect(judgement: Judgement[None], answer: Any, pace: TimeSlice | None) -> Effect:
    """Return the next effect of a judgement, evaluated at a pace if there is one."""
    if pace is None:
        return judgement.send(answer)
    with within_time_slice(pace):
        return judgement.send(answer)
