"""Handling one token, without knowing where: the steps between a delivery and its effects.

    claim -> decide -> (run the activity) -> settle -> perform

The worker, the embedded engine and the simulator drive exactly these functions; they differ only in
what an effect does and in what may happen between two of them. Deciding may need an answer that is
not at hand: a payload that must be fetched, an expression that takes longer than its time slice.
`TokenPipeline` waits for such answers; the embedded engine has every payload in its journal, and
defers the token instead of waiting (`embedded/deferred_tokens.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
from onward.runtime.token.context_reader import ContextReader, FetchPayload, read_fetching

OUTPUT_LIMIT = 64 * 1024 * 1024
"""The largest output of a node, in bytes of JSON."""
VISIT_SIGNALS = frozenset({"", "resume"})
READING = (Load, Items)
"""Effects that change nothing: a judgement that has asked only for these can start again."""

_outcomes: msgspec.json.Decoder[Outcome] = msgspec.json.Decoder(Outcome)


class NoAction(msgspec.Struct, frozen=True):
    """The token needs no handling: acknowledge it."""

    why: str


Action = NoAction | Judgement[None] | Activity | Outcome
"""What a claimed token asks for."""

# -- decide --------------------------------------------------------------------------------------


def decide(
    program: Program,
    token: Token,
    verdict: Verdict,
    reader: ContextReader,
    now_ms: int,
    time_slice: TimeSlice | None = None,
) -> Action:
    """Return what a claimed token asks for: nothing, a judgement, an activity, or an outcome.

    Within a time slice it may raise TimeSliceExceeded; where payloads are fetched, PayloadMissing.
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
            with within_time_slice(time_slice):
                return program.step(token, reader.view(program, token))


RunWithAnswers = Callable[[Callable[[TimeSlice], Awaitable[Action]]], Awaitable[Action]]
"""Run work within time slices: again after each long evaluation, which then has its answer."""


class TokenPipeline:
    """Decides about tokens where answers can be awaited."""

    def __init__(
        self, reader: ContextReader, fetch: FetchPayload, run_with_answers: RunWithAnswers
    ) -> None:
        self._reader = reader
        self._fetch = fetch
        self._run_with_answers = run_with_answers

    async def decide(self, program: Program, token: Token, verdict: Verdict, now_ms: int) -> Action:
        """Return what a claimed token asks for, once every answer that this needs is there.

        Each attempt decides from the beginning: deciding changes nothing.
        """

        async def attempt(time_slice: TimeSlice) -> Action:
            return await read_fetching(
                self._fetch,
                token.execution_id,
                lambda: decide(program, token, verdict, self._reader, now_ms, time_slice),
            )

        return await self._run_with_answers(attempt)


# -- settle --------------------------------------------------------------------------------------


def storable(outcome: Outcome) -> Outcome:
    """Return the outcome if it can be stored as JSON, else the failure that says why not."""
    match outcome:
        case Succeeded(output):
            try:
                encoded = encode(output)
            except MessageError as problem:
                message = f"the node's output cannot be stored: {problem}"
                return Failed(NodeError(message, "OUTPUT_INVALID"))
            if len(encoded) > OUTPUT_LIMIT:
                message = (
                    f"the node's output has {len(encoded)} bytes, more than {OUTPUT_LIMIT}:"
                    " store it elsewhere and return its address"
                )
                return Failed(NodeError(message, "OUTPUT_TOO_LARGE"))
            return Succeeded(encoded)
        case Failed(error):
            try:
                encode(error)
                return outcome
            except MessageError as problem:
                details = {"details_lost": str(problem)}
                return Failed(NodeError(_unicode(error.message), _unicode(error.code), details))
        case _:
            return outcome


def _unicode(text: object) -> str:
    """Return text that is Unicode for certain."""
    return str(text).encode("utf-8", "replace").decode()


# -- perform -------------------------------------------------------------------------------------


def perform(
    judgement: Judgement[None], do: Callable[[Effect], Any], time_slice: TimeSlice | None = None
) -> None:
    """Perform every effect of a judgement, in order, feeding each answer back.

    Within a time slice it may raise TimeSliceExceeded, before anything but reading is done.
    """
    answer = None
    try:
        while True:
            effect = next_effect(judgement, answer, time_slice)
            time_slice = time_slice if isinstance(effect, READING) else None
            answer = do(effect)
    except StopIteration:
        return


def next_effect(judgement: Judgement[None], answer: Any, time_slice: TimeSlice | None) -> Effect:
    """Return the next effect of a judgement, evaluated within a time slice if there is one."""
    if time_slice is None:
        return judgement.send(answer)
    with within_time_slice(time_slice):
        return judgement.send(answer)
