"""Rebuilding a run from its history, when the state that moved it is lost or will never move it.

A run's state can be lost as a whole (Redis was wiped), in part (it lost its last second), or what
would have moved it is gone (a message was lost with the broker). The remedy is always the same:
the state is superseded, so that whatever is left of it is void; a new *generation* is begun, in
which every outcome that history knows is on record; and the first tokens are sent again. They
retrace the run through the same decisions, with the same ids, and nothing that history knows about
is executed a second time. What it does not know is, with the same idempotency key as before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Iterator

import msgspec
from msgspec import Raw

from onward.errors import MessageError, StorageError, UnavailableError
from onward.kernel.effects import Begin, Forget, Pause, Restore, Supersede
from onward.kernel.ids import derive
from onward.kernel.lineage import scope_of
from onward.kernel.messages import (
    CompletionMessage,
    Token,
    decode_tokens,
    encode_message,
    run_of,
)
from onward.kernel.moment import to_iso
from onward.kernel.outcome import Awaits, Failed, NodeError, Outcome, Succeeded, Suspended
from onward.kernel.program import Program
from onward.kernel.waiting import woken_id
from onward.ports.bus import Bus
from onward.ports.clock import Chance, Clock
from onward.ports.controls import Controls
from onward.ports.coordinator import Coordinator
from onward.ports.journal import Execution, NodeRun
from onward.ports.payloads import Payloads
from onward.ports.signals import SignalLog
from onward.ports.store import Store
from onward.ports.timers import Timers
from onward.runtime.programs import Programs
from onward.runtime.queues import COMPLETION, EXECUTION, level_of
from onward.runtime.signalling import signals_of

PAGE = 500

_errors = msgspec.json.Decoder(NodeError)


class Repairer:
    """Rebuilds runs. Any number may try the same one at once: it is rebuilt once."""

    def __init__(
        self,
        store: Store,
        payloads: Payloads,
        controls: Controls,
        signals: SignalLog,
        programs: Programs,
        coordinator: Coordinator,
        timers: Timers,
        bus: Bus,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._store = store
        self._payloads = payloads
        self._controls = controls
        self._signals = signals
        self._programs = programs
        self._coordinator = coordinator
        self._timers = timers
        self._bus = bus
        self._clock = clock
        self._chance = chance

    async def repair(self, execution: Execution, why: str) -> str:
        """Rebuild a run that has not ended, and say what was done.

        `ended`: it had ended already, and its completion is published now. `rebuilt`: it goes on.
        `failed`: history cannot rebuild it, and it ends with the cause. `left`: somebody else did.
        """
        run = execution.execution_id
        # All of them: whoever rebuilt it before may have died before it closed the one before.
        for generation in range(execution.generation + 1):
            state = run_of(run, generation)
            standing = await self._coordinator.answer(state, Supersede())
            await self._timers.cancel_all(state)
            if standing is not None:
                await self._bus.publish(COMPLETION, encode_message(standing))
                await self._coordinator.answer(state, Forget())
                return "ended"
        now_ms = self._clock.now_ms()
        if not await self._store.regenerate(run, execution.generation, now_ms):
            return "left"
        try:
            await self._rebuild(run, execution.generation + 1)
        except (MessageError, StorageError) as problem:
            if isinstance(problem, UnavailableError):
                raise
            await self._fail(execution, f"{why}, and history cannot rebuild it: {problem}", now_ms)
            return "failed"
        return "rebuilt"

    async def begin(self, run: str) -> None:
        """Begin a run that is noted with a history: it goes on where that ends."""
        await self._rebuild(run, 0)

    async def _rebuild(self, run: str, generation: int) -> None:
        tokens = decode_tokens(await self._store.start_of(run) or b"[]")
        if not tokens:
            raise MessageError("the messages it began with are not known")
        program, _ = await self._programs.of(tokens[0])
        state = run_of(run, generation)
        history = await self._store.node_runs(run)
        ended = frozenset(one.token_id for one in history if one.status == "success")
        for start in range(0, len(history), PAGE):
            page = [(one, await self._output(one)) for one in history[start : start + PAGE]]
            restored = restorations(program, tokens[0], page, ended)
            await asyncio.gather(*(self._coordinator.answer(state, one) for one in restored))
        await self._coordinator.answer(state, Begin())
        if (await self._controls.control(run)).paused_ms is not None:
            await self._coordinator.answer(state, Pause(on=True))
        # Read after the state has its number: who sends one meanwhile sees this state, or is seen.
        for token in (*tokens, *await signals_of(self._signals, tokens[0])):
            again = msgspec.structs.replace(
                token, generation=generation, publish_id=self._chance.publish_id(), trouble=0
            )
            await self._bus.publish(EXECUTION, encode_message(again), priority=level_of(again))

    async def _output(self, run: NodeRun) -> Raw | None:
        if run.output_ref is None:
            return run.output
        return Raw(await self._payloads.get(run.execution_id, run.output_ref))

    async def _fail(self, execution: Execution, reason: str, now_ms: int) -> None:
        message = CompletionMessage(
            workflow_id=execution.workflow_id,
            execution_id=execution.execution_id,
            status="failed",
            final_context={},
            completed_at=to_iso(now_ms),
            total_duration_ms=max(0, now_ms - execution.started_ms),
            error=NodeError(reason, "STATE_LOST"),
        )
        await self._bus.publish(COMPLETION, encode_message(message))


def restorations(
    program: Program,
    start: Token,
    history: Iterable[tuple[NodeRun, Raw | None]],
    ended: Container[str] = (),
) -> Iterator[Restore]:
    """Iterate over what history can put on record: each node run comes with its output.

    Only activities, and waits whose end is among the tokens that `ended` well: what else the engine
    itself decided, it decides again, and just the same.
    """
    for run, output in history:
        if run.status == "waiting" and derive(run.token_id, "resume") in ended:
            yield _restore(run, Suspended(run.at_ms))
        there = msgspec.structs.replace(start, current_node=run.node_id, signal="")
        if not program.knows(there) or not program.outside(there):
            continue
        if run.status == "waiting" and woken_id(run.token_id) in ended:
            yield _restore(run, Awaits(name="again", until_ms=run.at_ms))
        outcome = _outcome(run, output)
        if outcome is not None:
            yield _restore(run, outcome)


def _restore(run: NodeRun, outcome: Outcome) -> Restore:
    body = msgspec.json.encode(outcome)
    return Restore(scope=scope_of(run.lineage), token_id=run.token_id, outcome=body)


def _outcome(run: NodeRun, output: Raw | None) -> Outcome | None:
    if run.status == "success" and output is not None:
        return Succeeded(output)
    if run.status == "failed" and run.error is not None:
        return Failed(_errors.decode(run.error))
    return None
