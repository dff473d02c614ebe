"""Finding runs that nothing will ever move, and repairing them from their history.

A run is left alone while there is any sign of life. It is lost when its state is gone, and stuck
when its state is there but nothing was heard of it for long, no timer and no worker has anything of
it in hand, and a probe that was sent to the end of the queue has come through it: then no message
of it can be left either. Should the judgement be wrong all the same, no harm is done: what is left
of the old state is void, so the run can neither end twice nor lose or double what history knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from onward.errors import MessageError
from onward.kernel.messages import decode_tokens, encode_message, state_id_of
from onward.ports.clock import Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.liveness import RunLiveness, RunPulse
from onward.ports.cluster.workers import WorkerRegistry
from onward.ports.nodes.outside import Log
from onward.ports.storage.history_store import HistoryStore, Silence
from onward.runtime.cluster.repair import Repairer
from onward.runtime.queues import COMPLETION, EXECUTION, STATUS

PAGE = 500
SILENT_MS = 120_000
"""A worker that has not been heard of for this long has nothing in its hands any more."""
PROBES_AT_ONCE = 100
BEHIND = 200
"""With more news than this waiting to be folded, history is not up to date enough to judge."""

Judgement = Literal["alive", "lost", "stuck", "untold", "suspect"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run may be silent before it is looked at."""

    lost_ms: int = 60_000
    """Until a run without a state is repaired: a run that is just starting has none yet either."""
    stuck_ms: int = 600_000
    """Until one with a state is: longer than any system retry waits in its queue."""
    every_s: float = 30.0


class Reconciler:
    """Looks at every run that is silent, again and again. Any number of them may run."""

    def __init__(
        self,
        store: HistoryStore,
        pulses: RunLiveness,
        roster: WorkerRegistry,
        bus: Bus,
        repairer: Repairer,
        depth: Callable[[str], Awaitable[int]],
        clock: Clock,
        log: Log,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._pulses = pulses
        self._roster = roster
        self._bus = bus
        self._repairer = repairer
        self._depth = depth
        self._clock = clock
        self._log = log
        self._patience = patience or Patience()
        self._probed: dict[str, str] = {}
        """Run -> the probe that is on its way."""

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(self._patience.every_s)
            try:
                await self.sweep()
            except Exception as problem:
                # Whatever is away now (a service, most likely), the next sweep may find it back.
                self._log.write("warning", f"silent runs could not be looked after: {problem}")

    async def sweep(self) -> dict[str, str]:
        """Look at every silent run once; return what was done about each that is not alive."""
        if max([await self._depth(STATUS), await self._depth(COMPLETION)]) > BEHIND:
            return {}
        now_ms = self._clock.now_ms()
        workers = await self._roster.workers()
        living = frozenset(worker.name for worker in workers if worker.seen_ms > now_ms - SILENT_MS)
        done: dict[str, str] = {}
        after = ""
        while True:
            quiet_since = now_ms - self._patience.lost_ms
            page = await self._store.quiet(quiet_since, after=after, limit=PAGE)
            runs = [
                state_id_of(one.execution.execution_id, one.execution.generation) for one in page
            ]
            pulses = await self._pulses.take(runs) if runs else []
            for one, pulse in zip(page, pulses, strict=True):
                judgement = self._judge(one, pulse, living, now_ms)
                if judgement != "alive":
                    done[one.execution.execution_id] = await self._act(one, judgement)
            if len(page) < PAGE:
                break
            after = page[-1].execution.execution_id
        self._probed = {run: probe for run, probe in self._probed.items() if run in done}
        return done

    def _judge(
        self, silence: Silence, pulse: RunPulse, living: frozenset[str], now_ms: int
    ) -> Judgement:
        if not pulse.born and not pulse.ended:
            return "lost"
        # Of one that nobody has begun there can be nothing but its first messages.
        if pulse.claimed and silence.heard_ms > now_ms - self._patience.stuck_ms:
            return "alive"
        if pulse.ended:
            return "untold"
        if pulse.timers or pulse.holders & living:
            return "alive"
        probe = _probe_of(silence)
        return "stuck" if pulse.probe == probe else "suspect"

    async def _act(self, silence: Silence, judgement: Judgement) -> str:
        if judgement == "suspect":
            return await self._probe(silence)
        execution = silence.execution
        why = {
            "lost": "its state was lost",
            "stuck": "nothing was left that could move it",
            "untold": "it ended and nobody was told",
        }[judgement]
        done = await self._repairer.repair(execution, why)
        text = f"the run was repaired ({done}): {why}"
        self._log.write("warning", text, run=execution.execution_id)
        return done

    async def _probe(self, silence: Silence) -> str:
        execution, probe = silence.execution, _probe_of(silence)
        if self._probed.get(execution.execution_id) == probe or len(self._probed) >= PROBES_AT_ONCE:
            return "waiting"
        start = await self._store.start_of(execution.execution_id)
        try:
            first = decode_tokens(start)[0]
        except (MessageError, IndexError):
            return await self._repairer.repair(execution, "nothing was left that could move it")
        token = msgspec.structs.replace(
            first,
            signal="probe",
            token_id=probe,
            accumulated_context={},
            context_refs={},
            generation=execution.generation,
        )
        await self._bus.publish(EXECUTION, encode_message(token))
        self._probed[execution.execution_id] = probe
        text = "the run is silent: looking for its messages"
        self._log.write("info", text, run=execution.execution_id)
        return "probed"


def _probe_of(silence: Silence) -> str:
    """Return the name of the probe about one silence: it means nothing for the next."""
    return f"{silence.execution.generation}-{silence.heard_ms}"
