"""Publishing lifecycle events: the log of what happened is followed from a place that is kept.

No run waits for it. What a sink has not taken is offered again, also by another process, so each
event comes at least once and always with the same id. A sink that stays behind for too long loses
the oldest, and the log says how many.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from onward.errors import StorageError
from onward.kernel.json import decode, encode
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

PAGE = 100
LOOK_MS = 500
"""How often to look for news."""
HOLD_MS = 60_000
"""How long another waits for one that has died."""
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 500, 30_000
MOST_BEHIND = 100_000
"""Events of the log that a sink may be behind."""
MOST_STORIES = 1_000
LARGEST = 32 * 1024
"""Bytes of an output that is told; events over 64 KiB may be dropped on their way."""

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class LifecyclePublisher:
    """Tells a sink what happens to runs."""

    def __init__(
        self,
        archive: RunQueries,
        outlets: PublishPositions,
        send: Send,
        clock: Clock,
        log: Log,
        holder: str,
        *,
        late_ms: int = 0,
    ) -> None:
        """`late_ms`: so long after the end of a run there may be news of its tasks."""
        self._late_ms = late_ms
        self._archive = archive
        self._outlets = outlets
        self._send = send
        self._clock = clock
        self._log = log
        self._holder = holder
        self._stories: OrderedDict[str, LifecycleStory | None] = OrderedDict()

    async def run(self, name: str) -> None:
        """Tell the outlet of a name until cancelled, also when services come and go."""
        never, pause_ms = asyncio.Event(), FIRST_PAUSE_MS
        while True:
            try:
                more = await self.turn(name)
                pause_ms, wait_ms = FIRST_PAUSE_MS, 0 if more else LOOK_MS
            except (OutsideError, StorageError, OSError) as problem:
                self._log.write("warning", f"lifecycle events wait: {problem}")
                wait_ms, pause_ms = pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)
            except Exception as problem:  # whatever one event meets, others must be told
                self._log.write("error", f"lifecycle events: {type(problem).__name__}: {problem}")
                wait_ms, pause_ms = pause_ms, min(2 * pause_ms, LONGEST_PAUSE_MS)
            if wait_ms:
                await self._clock.wait(never, self._clock.now_ms() + wait_ms)

    async def turn(self, name: str) -> bool:
        """Tell what there is, a page of it at most; True: there may be more."""
        now_ms, last = self._clock.now_ms(), await self._archive.last_place()
        place = await self._outlets.take(
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
        page, upto = await self._archive.all_events(EventQuery(), after=place, limit=PAGE)
        for one in page:
            await self._tell(one)
            await self._move(name, one.place)
        if not page and upto > place:
            await self._move(name, upto)
        return len(page) == PAGE

    async def _move(self, name: str, place: int) -> None:
        until_ms = self._clock.now_ms() + HOLD_MS
        if not await self._outlets.move(name, self._holder, place, until_ms=until_ms):
            raise OutsideError("another process tells them now", "OUTLET_TAKEN")

    async def _tell(self, one: PlacedEvent) -> None:
        story = await self._story(one.execution_id, one.event.seq)
        if story is None or one.event.seq <= story.seq:
            return
        before = story.copy()
        try:
            for event in [*await self._late(one), one.event]:
                for number, told in enumerate(story.see(event)):
                    extra = await self._extra(one.execution_id, event, told)
                    await self._send(cloud_event(story.subject, event.seq, number, told, extra))
        except BaseException:
            self._stories[one.execution_id] = before  # it is told again from its beginning
            raise

    async def _late(self, one: PlacedEvent) -> list[RunEvent]:
        """Return news of tasks that was written after the end of their run: it comes before it."""
        if one.event.type != "run.ended" or not self._late_ms:
            return []
        until_ms = from_iso(one.event.at) + self._late_ms
        if self._clock.now_ms() < until_ms:
            await self._clock.wait(asyncio.Event(), until_ms)
        return await self._archive.events(one.execution_id, after=one.event.seq, limit=PAGE)

    async def _story(self, execution_id: str, before: int) -> LifecycleStory | None:
        """Return a run as far as it was told before an event; None: it is of another language."""
        if execution_id in self._stories:
            self._stories.move_to_end(execution_id)
            return self._stories[execution_id]
        run = await self._archive.run(execution_id)
        definition = None if run is None else await self._archive.definition(run.definition_ref)
        if definition is None:
            return None  # it is dropped already, or nobody has said yet what it is of
        subject = subject_of(execution_id, definition.source)
        story = None if subject is None else LifecycleStory(subject)
        while story is not None and story.seq < before - 1:
            page = await self._archive.events(execution_id, after=story.seq, limit=PAGE)
            page = [event for event in page if event.seq < before]
            if not page:
                break
            for event in page:
                list(story.see(event))
        self._stories[execution_id] = story
        while len(self._stories) > MOST_STORIES:
            self._stories.popitem(last=False)
        return story

    async def _extra(
        self, execution_id: str, event: RunEvent, told: LifecycleEvent
    ) -> dict[str, Any]:
        """Return the output of what completed, unless it is too large to be told."""
        if told.kind == "task.completed":
            visit = await self._archive.output(execution_id, event.token_id, event.node_id)
            if visit is None or visit.output is None or len(visit.output) > LARGEST:
                return {}
            return {"output": msgspec.json.decode(visit.output)}
        if told.kind != "workflow.completed":
            return {}
        run = await self._archive.run(execution_id)
        if run is None or run.completion is None:
            return {}
        found = decode_completion(run.completion).final_context.get("$output")
        if found is None or len(encode(found)) > LARGEST:
            return {}
        return {"output": decode(found)}
