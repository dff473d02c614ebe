"""Events that start runs: each is held against every trigger that looks for events.

The same source and id fire a trigger once. Events that start a run together are kept until the last
of them comes; whoever dies in between leaves them where the next event finds them.
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

PAGE = 200
ATTEMPTS = 100
KEPT_MS = 7 * 24 * 60 * 60 * 1000
"""How long events wait for others."""
MOST_OPEN = 1_000
"""Gatherings of one trigger that are kept open, the latest ones."""

Fire = Callable[[Trigger, str, Any], Awaitable[Firing]]
"""Fires a trigger under a key with an input."""


class EventResult(NamedTuple):
    """What came of an event."""

    fired: list[Firing]
    failed: list[str]
    """Triggers that could not be fired, and why."""


class EventTriggers:
    """Holds events against triggers."""

    def __init__(
        self, triggers: Triggers, gatherings: EventSets, clock: Clock, fire: Fire | None = None
    ) -> None:
        """`fire` starts a run now; without it a master does so soon."""
        self._triggers = triggers
        self._gatherings = gatherings
        self._clock = clock
        self._fire = fire or self._note
        self._turn = asyncio.Lock()

    async def take(self, event: Event) -> EventResult:
        """Fire every trigger that looks for an event, once for each source and id."""
        fired, failed = [], []
        async for trigger in self._listening(event["type"]):
            try:
                firing = await self._held(trigger, event)
            except (StateConflictError, NotThereError, ExpressionError) as problem:
                failed.append(f"{trigger.trigger_id}: {problem}")
            else:
                if firing is not None:
                    fired.append(firing)
        return EventResult(fired, failed)

    async def _listening(self, event_type: str) -> AsyncIterator[Trigger]:
        after = ""
        while True:
            page = await self._triggers.listening(event_type, after=after, limit=PAGE)
            for trigger in page:
                yield trigger
            if len(page) < PAGE:
                return
            after = page[-1].trigger_id

    async def _held(self, trigger: Trigger, event: Event) -> Firing | None:
        """Hold one event against one trigger, and fire it if that is due."""
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
                    async with self._turn:  # they would only stand in each other's way
                        return await self._gather(trigger, wanted, event, key)
                if await asyncio.to_thread(event_filters.passes, wanted, event, now_ms):
                    return await self._fire(trigger, key, [event])
            case _:
                pass
        return None

    async def _note(self, trigger: Trigger, key: str, given: Any) -> Firing:
        now_ms = self._clock.now_ms()
        firing = firing_of(trigger, "event", key, now_ms, now_ms, given, overlap="allow")
        return await self._triggers.record(firing)

    async def _gather(
        self, trigger: Trigger, wanted: EventSelection, event: Event, key: str
    ) -> Firing | None:
        """Put an event where it belongs; fire when nothing more is waited for."""
        from onward.languages.serverless.run import event_filters  # noqa: PLC0415  (see `_held`)
        from onward.languages.serverless.templates import Expression  # noqa: PLC0415

        at = self._gatherings
        for _ in range(ATTEMPTS):
            before = await at.read(trigger.trigger_id)
            if await at.knows(trigger.trigger_id, key):
                return None
            so_far = {}
            if isinstance(wanted.until, Expression):
                so_far = {
                    one.name: await at.events(trigger.trigger_id, one.name) for one in before.open
                }
            now_ms = self._clock.now_ms()
            step = await asyncio.to_thread(
                event_filters.add_event, wanted, before.open, event, so_far, name=key, now_ms=now_ms
            )
            if step is None:
                return None
            joining = await self._joining(trigger, before, step, event, key)
            if await at.join(joining):
                return joining.firing
        raise StorageUnavailableError(
            f"trigger {trigger.trigger_id} takes too many events at once: send it again"
        )

    async def _joining(
        self,
        trigger: Trigger,
        before: CollectedEvents,
        step: event_filters.EventSetStep,
        event: Event,
        key: str,
    ) -> EventJoin:
        now_ms, name = self._clock.now_ms(), step.after.name
        others = [one for one in before.open if one.name != name]
        if not step.complete:
            places = {one.name: one for one in (*before.open, step.after)}
            others = list({**places, name: step.after}.values())
        kept = [other for other in others if now_ms - other.began_ms <= KEPT_MS][-MOST_OPEN:]
        firing = None
        if step.complete:
            events = await self._gatherings.events(trigger.trigger_id, name)
            given = [*events, event] if step.counted else events
            firing = firing_of(trigger, "event", name, now_ms, now_ms, given, overlap="allow")
        return EventJoin(
            trigger_id=trigger.trigger_id,
            event_key=key,
            at_ms=now_ms,
            after=CollectedEvents(revision=before.revision + 1, open=tuple(kept)),
            name=name,
            event=bytes(encode(event)) if step.counted else None,
            firing=firing,
        )
