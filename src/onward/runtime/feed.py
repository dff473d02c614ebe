"""Following runs live: a follower holds the number of its last event, and reads the page after it.

Nothing is queued for a follower, so a slow one, or many of them, cost no memory. Followers that
have every event of a run so far are served by its broadcast, which reads each page once for all of
them; one that is behind reads for itself, and shares the read with those at the same number.

Read `Feed.follow` first: catch up, then share. `RunBroadcast` is the shared half of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from onward.errors import StateConflictError
from onward.kernel.run_events import RunEvent
from onward.ports.storage.run_queries import EventQuery, PlacedEvent, RunQueries

EVENTS_PAGE = 500
"""Events in one page."""
LOOK_S = 2.0
"""After this time a broadcast reads without a notification: one may get lost."""
LINGER_S = 1.0
"""How long to wait for late events when a run has ended."""
PAUSE_S = 0.1
"""The shortest time between two reads: events in between travel together."""
PAUSE_PER_FOLLOWER_S = 0.002
"""How much longer that time is for each follower there is: what they cost together stays the same.
"""
MOST_FOLLOWERS = 2_000
"""Followers at once, in one process."""


class EventPage(list[RunEvent]):
    """Events that several followers share, with the form in which they are sent."""

    written: bytes | None = None

    @property
    def ends(self) -> bool:
        """Whether the run ends in this page."""
        return any(event.type == "run.ended" for event in self)


class Follower:
    """One follower of a run: the last event it has, and when it last received a page."""

    def __init__(self, after: int, heartbeat_s: float) -> None:
        self.after = after
        self.ended = False
        """The run has ended, and the follower has all of it."""
        self._heartbeat_s = heartbeat_s
        self._received_s = _now()

    def receive(self, page: EventPage) -> None:
        """Note that the follower has taken a page, which may be empty."""
        self._received_s = _now()
        if page:
            self.after = page[-1].seq

    def needs_heartbeat(self) -> bool:
        """Return whether the follower has received nothing for too long."""
        return _now() - self._received_s >= self._heartbeat_s


# -- one run ---------------------------------------------------------------------------------------


class NextPage:
    """The page after a number, once it is published: events, none, or the reason for failure."""

    __slots__ = ("_problem", "_published", "after", "over", "page")

    def __init__(self) -> None:
        self._published = asyncio.Event()
        self.after = -1
        self.page = EventPage()
        self.over = False
        """No event follows any more."""
        self._problem: Exception | None = None

    def publish(self, after: int, page: EventPage, *, over: bool) -> None:
        """Give the page to all who wait for it."""
        self.after, self.page, self.over = after, page, over
        self._published.set()

    def fail(self, problem: Exception) -> None:
        """Raise a problem in all who wait for the page."""
        self._problem = problem
        self._published.set()

    async def published(self) -> None:
        """Return when the page is published; raise the problem if it could not be read."""
        await self._published.wait()
        if self._problem is not None:
            raise self._problem


class RunBroadcast:
    """Reads the new events of one run when notified, and publishes them to all its followers.

    It keeps no old pages: a slow follower finds that the next one begins after another number than
    its own, and reads for itself until it has caught up.
    """

    def __init__(
        self,
        read: Callable[[int], Awaitable[EventPage]],
        has_ended: Callable[[], Awaitable[bool]],
        pause_s: Callable[[], float],
    ) -> None:
        self._read, self._has_ended, self._pause_s = read, has_ended, pause_s
        self.followers = 0
        self.look_s = LOOK_S
        self.upto = 0
        """The last event that the broadcast, or any follower, has read."""
        self.next = NextPage()
        self._notified = asyncio.Event()
        self._closes_s: float | None = None
        self._task = asyncio.create_task(self._run())

    def notify(self) -> None:
        """There may be new events."""
        self._notified.set()

    def close(self) -> None:
        """Stop: the last follower has left."""
        self._task.cancel()

    def note(self, page: EventPage) -> None:
        """Note a page that was read, here or by a follower for itself."""
        self.upto = max(self.upto, page[-1].seq)
        if page.ends:
            self._closes_s = self._closes_s or _now() + LINGER_S
            self.notify()  # the broadcast may be asleep for longer than the follower has to wait

    async def pages(self, follower: Follower, upcoming: NextPage) -> AsyncIterator[EventPage]:
        """Yield what is published to a follower until it falls behind or has all of the run."""
        while True:
            await upcoming.published()
            if upcoming.after != follower.after:
                return
            if upcoming.over:
                follower.ended = True
                return
            if upcoming.page or follower.needs_heartbeat():
                yield upcoming.page
                follower.receive(upcoming.page)
            if self.upto != follower.after:
                return
            upcoming = self.next

    async def _run(self) -> None:
        while True:
            await self._wait()
            after = self.upto
            try:
                page = await self._read(after)
                over = not page and await self._is_over()
            except Exception as problem:
                self._turn_page().fail(problem)
                continue
            if page:
                self.note(page)
            self._turn_page().publish(after, page, over=over)
            if 0 < len(page) < EVENTS_PAGE:
                await asyncio.sleep(self._pause_s())

    async def _wait(self) -> None:
        """Return when it is time to read: notified, the run is about to be over, or in a while."""
        if not self._notified.is_set():
            left_s = 0.0 if self._closes_s is None else self._closes_s - _now()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s if left_s > 0 else self.look_s):
                    await self._notified.wait()
        self._notified.clear()

    async def _is_over(self) -> bool:
        if self._closes_s is not None:
            return _now() >= self._closes_s
        return await self._has_ended()

    def _turn_page(self) -> NextPage:
        """Return the page that is due; from now on followers wait for the one after it."""
        due, self.next = self.next, NextPage()
        return due


# -- all runs --------------------------------------------------------------------------------------


class _SharedNotice:
    """One notice for all who follow all runs: to set it costs nothing when none waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        if not self._event.is_set():
            self._event.set()

    def next(self) -> asyncio.Event:
        """Return an event that is set at the next notice from now on."""
        if self._event.is_set():
            self._event = asyncio.Event()
        return self._event


class Feed:
    """Notifies followers of new events, and reads the events for them."""

    def __init__(self, archive: RunQueries, *, most: int = MOST_FOLLOWERS) -> None:
        self._archive = archive
        self._most = most
        self._broadcasts: dict[str, RunBroadcast] = {}
        self._notice = _SharedNotice()
        self._reads: dict[tuple[str, int], asyncio.Task[EventPage]] = {}
        self.followers = 0

    def notify(self, execution_id: str) -> None:
        """A run has new events."""
        self._notice.set()
        if (broadcast := self._broadcasts.get(execution_id)) is not None:
            broadcast.notify()

    def notify_all(self) -> None:
        """Any run may have new events."""
        self._notice.set()
        for broadcast in self._broadcasts.values():
            broadcast.notify()

    async def is_over(self, execution_id: str, after: int) -> bool:
        """Return whether a run has ended and has no event above a number."""
        return await self._has_ended(execution_id) and not await self._page(execution_id, after)

    async def follow(
        self, execution_id: str, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[EventPage]:
        """Yield the events above `after`, page by page and in order, until the run has ended.

        An empty page is a sign of life, after `heartbeat_s` without events.
        """
        with self._following(execution_id, heartbeat_s) as broadcast:
            follower = Follower(after, heartbeat_s)
            while not follower.ended:
                # Taken before the read, so that no event falls between the two.
                upcoming = broadcast.next
                page = await self._page(execution_id, follower.after)
                if page:
                    broadcast.note(page)
                    yield page
                    follower.receive(page)
                    if len(page) == EVENTS_PAGE or broadcast.upto > follower.after:
                        continue  # still behind
                elif await self.is_over(execution_id, follower.after):
                    return
                async for shared in broadcast.pages(follower, upcoming):
                    yield shared

    async def follow_all(
        self, query: EventQuery, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[list[PlacedEvent]]:
        """Yield the events of all runs after a place, page by page and in order, without an end.

        An empty page is a sign of life, after `heartbeat_s` without events.
        """
        sent_s = _now()
        with self._counted():
            while True:
                notice = self._notice.next()
                page, after = await self._archive.all_events(query, after=after, limit=EVENTS_PAGE)
                if page or _now() - sent_s >= heartbeat_s:
                    yield page
                    sent_s = _now()
                if len(page) == EVENTS_PAGE:
                    continue
                await self._pause()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(LOOK_S, heartbeat_s)):
                        await notice.wait()

    async def _pause(self) -> None:
        """Sleep to the next of the moments at which all who follow all runs read."""
        pause_s = self._pause_s()
        await asyncio.sleep(pause_s - _now() % pause_s)

    def _pause_s(self) -> float:
        return PAUSE_S + PAUSE_PER_FOLLOWER_S * self.followers

    async def _has_ended(self, execution_id: str) -> bool:
        run = await self._archive.run(execution_id)
        return run is not None and run.ended_ms is not None

    async def _page(self, execution_id: str, after: int) -> EventPage:
        key = (execution_id, after)
        read = self._reads.get(key)
        if read is None:
            read = self._reads[key] = asyncio.ensure_future(self._read(*key))
            read.add_done_callback(lambda _: self._reads.pop(key, None))
        # Shielded: the read continues for the others when one of them leaves.
        return await asyncio.shield(read)

    async def _read(self, execution_id: str, after: int) -> EventPage:
        return EventPage(await self._archive.events(execution_id, after=after, limit=EVENTS_PAGE))

    def check_room(self) -> None:
        """Raise StateConflictError when there is no room for another follower."""
        if self.followers >= self._most:
            raise StateConflictError(
                f"{self._most} streams are open here already: close some, or ask another master",
                "TOO_MANY_STREAMS",
            )

    @contextmanager
    def _following(self, execution_id: str, heartbeat_s: float) -> Iterator[RunBroadcast]:
        with self._counted():
            broadcast = self._broadcasts.get(execution_id)
            if broadcast is None:
                broadcast = self._broadcasts[execution_id] = RunBroadcast(
                    lambda after: self._page(execution_id, after),
                    lambda: self._has_ended(execution_id),
                    self._pause_s,
                )
            broadcast.look_s = min(broadcast.look_s, heartbeat_s)
            broadcast.followers += 1
            try:
                yield broadcast
            finally:
                broadcast.followers -= 1
                if not broadcast.followers:
                    broadcast.close()
                    del self._broadcasts[execution_id]

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.check_room()
        self.followers += 1
        try:
            yield
        finally:
            self.followers -= 1


def _now() -> float:
    return asyncio.get_running_loop().time()
