"""Events that start runs: each is matched with every trigger that looks for events.

The same source and id fire a trigger once. Events that start a run together are stored until the
last of them comes; when a process dies in between, the next event finds them there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from onward.errors import (
    ExpressionError,
    NotThereError,
    StateConflictError,
    StorageUnavailableError,
)
from onward.kernel.ids import derive
from onward.kernel.json import encode
from onward.ports.clock import Clock
from onward.ports.storage.event_sets import CollectedEvents, EventJoin, EventSets
from onward.ports.storage.triggers import Events, Firing, On, Trigger, Triggers
from onward.runtime.triggers.cloud_events import Event, is_wanted, key_of
from onward.runtime.triggers.firing import firing_of

if TYPE_CHECKING:
    from onward.languages.serverless.model import EventSelection
    from onward.languages.serverless.run import event_filters

TRIGGERS_PAGE = 200
JOIN_ATTEMPTS = 100
EVENTS_KEPT_MS = 7 * 24 * 60 * 60 * 1000
"""How long events wait for others."""
MOST_OPEN = 1_000
"""Event sets of one trigger that stay open, the latest ones."""

Fire = Callable[[Trigger, str, Any], Awaitable[Firing]]
"""Fires a trigger under a key with an input."""


class EventResult(NamedTuple):
    """What an event fired."""

    fired: list[Firing]
    failed: list[str]
    """Triggers that could not be fired, and why."""


class EventTriggers:
    """Fires the triggers that look for an event."""

    def __init__(
        self, triggers: Triggers, event_sets: EventSets, clock: Clock, fire: Fire | None = None
    ) -> None:
        """`fire` starts a run now; without it a master does so soon."""
        self._triggers = triggers
        self._event_sets = event_sets
        self._clock = clock
        self._fire = fire or self._record
        self._joining = asyncio.Lock()

    async def take(self, event: Event) -> EventResult:
        """Fire every trigger that looks for an event, once for each source and id."""
        fired, failed = [], []
        async for trigger in self._listening(event["type"]):
            try:
                firing = await self._match(trigger, event)
            except (StateConflictError, NotThereError, ExpressionError) as problem:
                failed.append(f"{trigger.trigger_id}: {problem}")
            else:
                if firing is not None:
                    fired.append(firing)
        return EventResult(fired, failed)

    async def _listening(self, event_type: str) -> AsyncIterator[Trigger]:
        after = ""
        while True:
            page = await self._triggers.listening(event_type, after=after, limit=TRIGGERS_PAGE)
            for trigger in page:
                yield trigger
            if len(page) < TRIGGERS_PAGE:
                return
            after = page[-1].trigger_id

    async def _match(self, trigger: Trigger, event: Event) -> Firing | None:
        """Match one event with one trigger, and fire the trigger if that is due."""
        key, now_ms = f"event-{derive(*key_of(event))}", self._clock.now_ms()
        match trigger.settings:
            case Events() as settings:
                # jq may take its time, and this is the loop that everything waits for.
                if await asyncio.to_thread(is_wanted, settings, event, now_ms=now_ms):
                    return await self._fire(trigger, key, event)
            case On() as settings:
                # Only a schedule of the Serverless Workflow DSL needs that language at all.
                from onward.languages.serverless.read.schedule import strategy_of  # noqa: PLC0415
                from onward.languages.serverless.run import event_filters  # noqa: PLC0415

                wanted = strategy_of(settings)
                if not event_filters.takes_single_event(wanted):
                    async with self._joining:  # they would only stand in each other's way
                        return await self._collect(trigger, wanted, event, key)
                if await asyncio.to_thread(event_filters.passes, wanted, event, now_ms):
                    return await self._fire(trigger, key, [event])
            case _:
                pass
        return None

    async def _record(self, trigger: Trigger, key: str, given: Any) -> Firing:
        now_ms = self._clock.now_ms()
        firing = firing_of(trigger, "event", key, now_ms, now_ms, given, overlap="allow")
        return await self._triggers.record(firing)

    async def _collect(
        self, trigger: Trigger, wanted: EventSelection, event: Event, key: str
    ) -> Firing | None:
        """Add an event to its set; fire when the set is complete."""
        from onward.languages.serverless.run import event_filters  # noqa: PLC0415  (see `_match`)
        from onward.languages.serverless.templates import Expression  # noqa: PLC0415

        sets = self._event_sets
        for _ in range(JOIN_ATTEMPTS):
            before = await sets.read(trigger.trigger_id)
            if await sets.knows(trigger.trigger_id, key):
                return None
            so_far = {}
            if isinstance(wanted.until, Expression):
                so_far = {
                    event_set.name: await sets.events(trigger.trigger_id, event_set.name)
                    for event_set in before.open
                }
            now_ms = self._clock.now_ms()
            step = await asyncio.to_thread(
                event_filters.add_event, wanted, before.open, event, so_far, name=key, now_ms=now_ms
            )
            if step is None:
                return None
            joined = await self._joined(trigger, before, step, event, key)
            if await sets.join(joined):
                return joined.firing
        raise StorageUnavailableError(
            f"trigger {trigger.trigger_id} takes too many events at once: send it again"
        )

    async def _joined(
        self,
        trigger: Trigger,
        before: CollectedEvents,
        step: event_filters.EventSetStep,
        event: Event,
        key: str,
    ) -> EventJoin:
        now_ms, name = self._clock.now_ms(), step.after.name
        sets = [event_set for event_set in before.open if event_set.name != name]
        if not step.complete:
            by_name = {event_set.name: event_set for event_set in before.open}
            sets = list({**by_name, name: step.after}.values())
        recent = [each for each in sets if now_ms - each.began_ms <= EVENTS_KEPT_MS]
        firing = None
        if step.complete:
            events = await self._event_sets.events(trigger.trigger_id, name)
            given = [*events, event] if step.counted else events
            firing = firing_of(trigger, "event", name, now_ms, now_ms, given, overlap="allow")
        return EventJoin(
            trigger_id=trigger.trigger_id,
            event_key=key,
            at_ms=now_ms,
            after=CollectedEvents(revision=before.revision + 1, open=tuple(recent[-MOST_OPEN:])),
            name=name,
            event=bytes(encode(event)) if step.counted else None,
            firing=firing,
        )
