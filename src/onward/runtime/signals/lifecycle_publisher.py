"""The publisher of lifecycle events: it follows the log of all events from a stored position.

No run waits for it. What a sink has not accepted is sent again, also by another process, so each
event is published at least once and always with the same id. A sink that stays behind for too long
loses the oldest events, and the log says how many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from onward.errors import StorageError
from onward.kernel.json import decode, encode
from onward.kernel.lru import Lru
from onward.kernel.messages import decode_completion
from onward.kernel.run_events import RunEvent
from onward.kernel.timestamps import from_iso
from onward.ports.clock import Clock
from onward.ports.nodes.outside import Log, OutsideError
from onward.ports.storage.publish_positions import PublishPositions
from onward.ports.storage.run_queries import EventQuery, PlacedEvent, RunQueries
from onward.runtime.signals.lifecycle_events import (
    LifecycleEvent,
    LifecycleStory,
    cloud_event,
    subject_of,
)

EVENTS_PAGE = 100
LOOK_MS = 500
"""How often to look for new events."""
HOLD_MS = 60_000
"""How long another process waits for one that has died."""
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 500, 30_000
MOST_BEHIND = 100_000
"""Events of the log that a sink may be behind."""
MOST_STORIES = 1_000
LARGEST_OUTPUT = 32 * 1024
"""Bytes of an output that is published; events over 64 KiB may be dropped on their way."""

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class LifecyclePublisher:
    """Publishes the lifecycle of runs to a sink."""

    def __init__(
        self,
        archive: RunQueries,
        positions: PublishPositions,
        send: Send,
        clock: Clock,
        log: Log,
        holder: str,
        *,
        late_ms: int = 0,
    ) -> None:
        """`late_ms`: so long after the end of a run there may be events of its tasks."""
        self._late_ms = late_ms
        self._archive = archive
        self._positions = positions
        self._send = send
        self._clock = clock
        self._log = log
        self._holder = holder
        self._stories: Lru[str, LifecycleStory] = Lru(MOST_STORIES)
        self._others: Lru[str, bool] = Lru(MOST_STORIES)
        """Runs of the other language, which have no lifecycle events."""

    async def run(self, name: str) -> None:
        """Publish under a name until cancelled, also when services come and go."""
        never, pause_ms = asyncio.Event(), FIRST_PAUSE_MS
        while True:
            try:
                more = await self.turn(name)
                pause_ms, wait_ms = FIRST_PAUSE_MS, 0 if more else LOOK_MS
            except (OutsideError, StorageError, OSError) as problem:
                self._log.write("warning", f"lifecycle events wait: {problem}")
                wait_ms, pause_ms = pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)
            except Exception as problem:  # one event may fail, the others must be published
                self._log.write("error", f"lifecycle events: {type(problem).__name__}: {problem}")
                wait_ms, pause_ms = pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)
            if wait_ms:
                await self._clock.wait(never, self._clock.now_ms() + wait_ms)

    async def turn(self, name: str) -> bool:
        """Publish a page of events at most; True: there may be more."""
        now_ms, last = self._clock.now_ms(), await self._archive.last_place()
        place = await self._positions.take(
            name, self._holder, first=last, now_ms=now_ms, until_ms=now_ms + HOLD_MS
        )
        if place is None:
            return False
        if last - place > MOST_BEHIND:
            dropped = last - MOST_BEHIND - place
            self._log.write(
                "error", f"lifecycle events: {dropped} were dropped, their sink was too slow"
            )
            place = last - MOST_BEHIND
            await self._move(name, place)
        page, upto = await self._archive.all_events(EventQuery(), after=place, limit=EVENTS_PAGE)
        for placed in page:
            await self._publish(placed)
            await self._move(name, placed.place)
        if not page and upto > place:
            await self._move(name, upto)
        return len(page) == EVENTS_PAGE

    async def _move(self, name: str, place: int) -> None:
        until_ms = self._clock.now_ms() + HOLD_MS
        if not await self._positions.move(name, self._holder, place, until_ms=until_ms):
            raise OutsideError("another process publishes them now", "OUTLET_TAKEN")

    async def _publish(self, placed: PlacedEvent) -> None:
        execution_id, event = placed.execution_id, placed.event
        story = await self._story(execution_id, event.seq)
        if story is None or event.seq <= story.seq:
            return
        before = story.copy()
        try:
            for each in [*await self._late(execution_id, event), event]:
                for number, lifecycle in enumerate(story.see(each)):
                    extra = await self._extra(execution_id, each, lifecycle)
                    await self._send(cloud_event(story.subject, each.seq, number, lifecycle, extra))
        except BaseException:
            self._stories.put(execution_id, before)  # all of it is published again
            raise

    async def _late(self, execution_id: str, event: RunEvent) -> list[RunEvent]:
        """Return events of tasks written after the end of their run: they are published before."""
        if event.type != "run.ended" or not self._late_ms:
            return []
        until_ms = from_iso(event.at) + self._late_ms
        if self._clock.now_ms() < until_ms:
            await self._clock.wait(asyncio.Event(), until_ms)
        return await self._archive.events(execution_id, after=event.seq, limit=EVENTS_PAGE)

    async def _story(self, execution_id: str, before: int) -> LifecycleStory | None:
        """Return a run as published before an event; None: it is of another language."""
        known = self._stories.get(execution_id)
        if known is not None or self._others.get(execution_id):
            return known
        run = await self._archive.run(execution_id)
        definition = None if run is None else await self._archive.definition(run.definition_ref)
        if definition is None:
            return None  # it is deleted already, or its definition is not known yet
        subject = subject_of(execution_id, definition.source)
        if subject is None:
            self._others.put(execution_id, True)
            return None
        story = LifecycleStory(subject)
        while story.seq < before - 1:
            page = await self._archive.events(execution_id, after=story.seq, limit=EVENTS_PAGE)
            page = [event for event in page if event.seq < before]
            if not page:
                break
            for event in page:
                list(story.see(event))
        self._stories.put(execution_id, story)
        return story

    async def _extra(
        self, execution_id: str, event: RunEvent, lifecycle: LifecycleEvent
    ) -> dict[str, Any]:
        """Return the output of what completed, unless it is too large to be published."""
        if lifecycle.kind == "task.completed":
            visit = await self._archive.output(execution_id, event.token_id, event.node_id)
            if visit is None or visit.output is None or len(visit.output) > LARGEST_OUTPUT:
                return {}
            return {"output": msgspec.json.decode(visit.output)}
        if lifecycle.kind != "workflow.completed":
            return {}
        run = await self._archive.run(execution_id)
        if run is None or run.completion is None:
            return {}
        found = decode_completion(run.completion).final_context.get("$output")
        if found is None or len(encode(found)) > LARGEST_OUTPUT:
            return {}
        return {"output": decode(found)}
