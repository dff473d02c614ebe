"""The clock of triggers: schedules fire when due, each time once, on any number of masters.

A schedule advances and its firings are recorded in one transaction, which succeeds for the first
master alone. What was recorded and not started is started by the next master that finds it.

Read `settle` first, the pure decision about firings that wait; `TriggerClock` is the loop.
"""

from __future__ import annotations

import asyncio

import msgspec

from onward.errors import InputError
from onward.kernel.timestamps import to_iso
from onward.ports.nodes.outside import Log
from onward.ports.storage.triggers import After, Cause, Firing, Standing, Trigger, Verdict
from onward.runtime.backend import Backend
from onward.runtime.schedules import FiringPlan, plan
from onward.runtime.triggers.firer import OUTAGES, Firer
from onward.runtime.triggers.firing import firing_of, schedule_of, scheduled

LOOK_MS = 1_000
"""How often to look although nothing is due: another master may have added something."""
SOON_MS = 200
"""How often to look while a firing waits for a run to end."""
LATE_MS = 5_000
"""A firing that should have started so long ago was left by a master that died."""
FIRINGS_KEPT_MS = 7 * 24 * 60 * 60 * 1000
"""How long firings are stored, and with them the ids of messages."""
DAY_MS = 24 * 60 * 60 * 1000
CLEANING_MS = 60 * 60 * 1000
TRIGGERS_PAGE = 100
NEWEST = (2**62, "")
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 500, 30_000


def settle(standing: Standing) -> Verdict:
    """Decide about every firing that waits, by its own overlap policy.

    Only firings of the same cause stand in each other's way: a backfill does not hold up the
    schedule it makes up for. A cancellation is repeated until the run has ended, and only then the
    next firing starts, so that a master may die at any point.
    """
    if not standing.enabled:
        gone = [_skipped(firing, "the trigger was disabled") for firing in standing.waiting]
        return Verdict(skip=tuple(gone))
    start: list[Firing] = []
    skip: list[Firing] = []
    cancel: list[str] = []
    busy: dict[Cause, list[Firing]] = {}
    for firing in standing.active:
        busy.setdefault(firing.cause, []).append(firing)
    newest = {firing.cause: firing.key for firing in standing.waiting if firing.overlap == "cancel"}
    for firing in standing.waiting:
        before = busy.get(firing.cause, [])
        if firing.overlap == "cancel" and newest[firing.cause] != firing.key:
            skip.append(_skipped(firing, "a later time came before this one could start"))
        elif firing.overlap == "allow" or not before:
            start.append(firing)
            if firing.overlap != "allow":
                busy.setdefault(firing.cause, []).append(firing)
        elif firing.overlap == "skip":
            skip.append(_skipped(firing, f"run {before[0].execution_id} had not ended"))
        elif firing.overlap == "cancel":
            cancel += [other.execution_id for other in before if other.state == "started"]
    return Verdict(start=tuple(start), skip=tuple(skip), cancel=tuple(cancel))


def _skipped(firing: Firing, why: str) -> Firing:
    return msgspec.structs.replace(firing, state="skipped", note=why)


class TriggerClock:
    """Fires the triggers that are due."""

    def __init__(self, backend: Backend, log: Log) -> None:
        self._backend = backend
        self._log = log
        self._firer = Firer(backend)
        self._next_cleaning_ms = 0

    async def run(self) -> None:
        """Fire until cancelled, also when services come and go."""
        clock, never, pause_ms = self._backend.clock, asyncio.Event(), FIRST_PAUSE_MS
        while True:
            try:
                until_ms = await self.turn()
                pause_ms = FIRST_PAUSE_MS
            except OUTAGES as problem:
                self._log.write("warning", f"triggers wait for a service: {problem}")
                until_ms = clock.now_ms() + pause_ms
                pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)
            except Exception as problem:  # one trigger may fail, the others must still fire
                self._log.write("error", f"triggers: {type(problem).__name__}: {problem}")
                until_ms = clock.now_ms() + pause_ms
                pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)
            await clock.wait(never, until_ms)

    async def turn(self) -> int:
        """Do what there is to do now, and return when to look again."""
        triggers, now_ms = self._backend.triggers, self._backend.clock.now_ms()
        while True:
            due = await triggers.due(now_ms, TRIGGERS_PAGE)
            moved = [await self._advance(trigger, now_ms) for trigger in due]
            if len(due) < TRIGGERS_PAGE or not any(moved):
                break
        waits = await self._settle_all()
        for firing in await triggers.starting(now_ms - LATE_MS, TRIGGERS_PAGE):
            await self._start(firing)
        if now_ms >= self._next_cleaning_ms:
            self._next_cleaning_ms = now_ms + CLEANING_MS
            await triggers.drop_firings(now_ms - FIRINGS_KEPT_MS)
            await self._backend.gatherings.drop_events(now_ms - FIRINGS_KEPT_MS)
        look_ms = now_ms + (SOON_MS if waits else LOOK_MS)
        next_ms = await triggers.next_due()
        return look_ms if next_ms is None else min(look_ms, max(now_ms, next_ms))

    async def _advance(self, trigger: Trigger, now_ms: int) -> bool:
        """Record what is due of a schedule, and advance it; False: another master did."""
        due_ms = trigger.next_due_ms or now_ms
        if isinstance(trigger.settings, After):
            return await self._rest(trigger, trigger.settings, due_ms, now_ms)
        try:
            schedule = schedule_of(trigger)
            to_do = plan(schedule, trigger.created_ms, due_ms, now_ms)
            firings = [scheduled(trigger, time_ms, now_ms) for time_ms in to_do.fire]
        except InputError as problem:  # its time zone is gone, and with it every further time
            to_do = FiringPlan((), 1, None)
            firings = []
            self._log.write("error", f"trigger {trigger.trigger_id} stands still: {problem}")
        if to_do.missed:
            firings.append(_missed(trigger, to_do.missed, due_ms, now_ms))
        return await self._backend.triggers.advance(trigger, to_do.next_due, firings)

    async def _rest(self, trigger: Trigger, after: After, due_ms: int, now_ms: int) -> bool:
        """Fire if the run before ended long enough ago; otherwise look again when it can have.

        A run that still runs now cannot make the next one due sooner than after the whole delay.
        """
        # A firing may be deleted long before a long delay is over: its end is recorded by then.
        pause_ms = min(max(after.delay_ms, SOON_MS), DAY_MS)
        last = await self._backend.triggers.firings(trigger.trigger_id, before=NEWEST, limit=1)
        ended_ms = await self._ended(last[0]) if last else due_ms - after.delay_ms
        if ended_ms is None:
            return await self._backend.triggers.advance(trigger, now_ms + pause_ms, ())
        if ended_ms + after.delay_ms > now_ms:
            return await self._backend.triggers.advance(trigger, ended_ms + after.delay_ms, ())
        firing = firing_of(
            trigger, "schedule", str(due_ms), due_ms, now_ms, after.input, overlap="queue"
        )
        return await self._backend.triggers.advance(trigger, now_ms + pause_ms, [firing])

    async def _ended(self, firing: Firing) -> int | None:
        """Return when the run of a firing ended; None: it may still be running."""
        if firing.state in ("skipped", "refused"):
            return firing.at_ms
        if firing.state in ("waiting", "starting"):
            return None
        run = await self._backend.archive.run(firing.execution_id)
        return firing.at_ms if run is None else run.ended_ms

    async def _settle_all(self) -> bool:
        """Decide about every firing that waits; True when one still does."""
        triggers, after, waits = self._backend.triggers, "", False
        while True:
            page = await triggers.unsettled(after=after, limit=TRIGGERS_PAGE)
            for trigger_id in page:
                waits = await self._settle(trigger_id) or waits
            if len(page) < TRIGGERS_PAGE:
                return waits
            after = page[-1]

    async def _settle(self, trigger_id: str) -> bool:
        verdict = await self._backend.triggers.settle(trigger_id, settle)
        for execution_id in verdict.cancel:
            run = await self._backend.archive.run(execution_id)
            if run is not None and run.ended_ms is None:
                await self._backend.cancel(run, "the next time of its trigger came")
        for firing in verdict.start:
            await self._start(firing)
        return not (verdict.start or verdict.skip)

    async def _start(self, firing: Firing) -> None:
        trigger = await self._backend.triggers.trigger(firing.trigger_id)
        done = await self._firer.start(firing, trigger)
        if done.state == "refused":
            self._log.write("warning", f"trigger {firing.trigger_id} started no run: {done.note}")


def _missed(trigger: Trigger, many: int, since_ms: int, now_ms: int) -> Firing:
    """Return a record of times that were missed. A backfill can still fire them: it has no time."""
    firing = firing_of(
        trigger, "schedule", f"missed-{since_ms}", since_ms, now_ms, None, overlap="allow"
    )
    times = f"{many} time{'s' * (many != 1)}"
    return msgspec.structs.replace(
        firing,
        state="skipped",
        note=f"{times} since {to_iso(since_ms)} came while no master could fire",
        input=None,
    )
