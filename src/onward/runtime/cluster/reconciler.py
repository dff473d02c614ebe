"""Finding runs that nothing will ever move, and repairing them from their history.

A run is left alone while there is any sign of life. It is lost when its state is gone, and stuck
when its state is there but nothing was reported about it for long, no timer and no worker holds
anything of it, and a probe that was sent to the end of the queue has passed through it: then no
message of it can be left either. Should that diagnosis be wrong all the same, no harm is done: what
is left of the old state is void, so the run can neither end twice nor lose or double what history
knows.
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
from onward.runtime.tasks import repeat

RUNS_PAGE = 500
SILENT_MS = 120_000
"""A worker that was last seen longer ago holds nothing any more."""
MOST_PROBES = 100
MOST_UNFOLDED = 200
"""With more statuses or completions than this in a queue, history is too old to judge by."""

Diagnosis = Literal["alive", "lost", "stuck", "unreported", "suspect"]
_CAUSES: dict[Diagnosis, str] = {
    "lost": "its state was lost",
    "stuck": "nothing was left that could move it",
    "unreported": "it had ended, and that was not reported",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run may be silent before it is examined."""

    lost_ms: int = 60_000
    """Until a run without a state is repaired: a run that is just starting has none yet either."""
    stuck_ms: int = 600_000
    """Until one with a state is: longer than any system retry waits in its queue."""
    every_s: float = 30.0


class Reconciler:
    """Examines every run that is silent, at intervals. Any number of reconcilers may run."""

    def __init__(
        self,
        store: HistoryStore,
        liveness: RunLiveness,
        registry: WorkerRegistry,
        bus: Bus,
        repairer: Repairer,
        depth: Callable[[str], Awaitable[int]],
        clock: Clock,
        log: Log,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._liveness = liveness
        self._registry = registry
        self._bus = bus
        self._repairer = repairer
        self._depth = depth
        self._clock = clock
        self._log = log
        self._patience = patience or Patience()
        self._probes: dict[str, str] = {}
        """Run -> the probe that is on its way."""

    async def run(self) -> None:
        """Sweep until cancelled."""
        await asyncio.sleep(self._patience.every_s)
        await repeat(self.sweep, self._warn, pause_s=self._patience.every_s)

    def _warn(self, problem: Exception) -> None:
        self._log.write("warning", f"silent runs could not be examined: {problem}")

    async def sweep(self) -> dict[str, str]:
        """Examine every silent run once; return what was done about each that is not alive."""
        if max([await self._depth(STATUS), await self._depth(COMPLETION)]) > MOST_UNFOLDED:
            return {}
        now_ms = self._clock.now_ms()
        workers = await self._registry.workers()
        living = frozenset(worker.name for worker in workers if worker.seen_ms > now_ms - SILENT_MS)
        done: dict[str, str] = {}
        after = ""
        while True:
            quiet_since = now_ms - self._patience.lost_ms
            page = await self._store.quiet(quiet_since, after=after, limit=RUNS_PAGE)
            runs = [silence.execution for silence in page]
            state_ids = [state_id_of(run.execution_id, run.generation) for run in runs]
            pulses = await self._liveness.take(state_ids) if state_ids else []
            for silence, pulse in zip(page, pulses, strict=True):
                diagnosis = self._diagnose(silence, pulse, living, now_ms)
                if diagnosis != "alive":
                    done[silence.execution.execution_id] = await self._act(silence, diagnosis)
            if len(page) < RUNS_PAGE:
                break
            after = runs[-1].execution_id
        self._probes = {run_id: probe for run_id, probe in self._probes.items() if run_id in done}
        return done

    def _diagnose(
        self, silence: Silence, pulse: RunPulse, living: frozenset[str], now_ms: int
    ) -> Diagnosis:
        if not pulse.born and not pulse.ended:
            return "lost"
        # Of a run that no worker has claimed there can be nothing but its first messages.
        if pulse.claimed and silence.heard_ms > now_ms - self._patience.stuck_ms:
            return "alive"
        if pulse.ended:
            return "unreported"
        if pulse.timers or pulse.holders & living:
            return "alive"
        return "stuck" if pulse.probe == _probe_of(silence) else "suspect"

    async def _act(self, silence: Silence, diagnosis: Diagnosis) -> str:
        if diagnosis == "suspect":
            return await self._probe(silence)
        run, cause = silence.execution, _CAUSES[diagnosis]
        done = await self._repairer.repair(run, cause)
        text = f"the run was repaired ({done}): {cause}"
        self._log.write("warning", text, run=run.execution_id)
        return done

    async def _probe(self, silence: Silence) -> str:
        run, probe = silence.execution, _probe_of(silence)
        if self._probes.get(run.execution_id) == probe or len(self._probes) >= MOST_PROBES:
            return "waiting"
        start = await self._store.start_of(run.execution_id)
        try:
            first = decode_tokens(start)[0]
        except (MessageError, IndexError):
            return await self._repairer.repair(run, _CAUSES["stuck"])
        token = msgspec.structs.replace(
            first,
            signal="probe",
            token_id=probe,
            accumulated_context={},
            context_refs={},
            generation=run.generation,
        )
        await self._bus.publish(EXECUTION, encode_message(token))
        self._probes[run.execution_id] = probe
        text = "the run is silent: looking for its messages"
        self._log.write("info", text, run=run.execution_id)
        return "probed"


def _probe_of(silence: Silence) -> str:
    """Return the name of the probe about one silence: it means nothing for the next."""
    return f"{silence.execution.generation}-{silence.heard_ms}"
