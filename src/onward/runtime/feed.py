"""Following runs live: whoever follows holds a number, and pulls the next page when there is news.

Nothing is queued for anybody, so a follower that is slow, or many of them, cost no memory. Those
who follow one run and have seen everything so far are told by its press, which asks the archive
once for all of them; whoever is behind asks for themselves, and shares the answer with those who
stand at the same number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from onward.errors import StateConflictError
from onward.kernel.run_events import RunEvent
from onward.ports.storage.run_queries import EventQuery, PlacedEvent, RunQueries

# -- The news of one run, read once for all who follow it and have seen everything before.


PAGE = 500
"""Events in one page."""
LOOK_S = 2.0
"""After this time the press looks although nobody told of news: a word may get lost."""
LINGER_S = 1.0
"""How long to wait for late news when a run has ended."""


class EventPage(list[RunEvent]):
    """Events that several followers share, with the form in which they are sent."""

    written: bytes | None = None

    @property
    def ends(self) -> bool:
        """Whether it tells the end of the run."""
        return any(one.type == "run.ended" for one in self)


class NextPage:
    """What came after a number, once it is out: a page, an empty one, or why there is none."""

    __slots__ = ("_problem", "after", "out", "over", "page")

    def __init__(self) -> None:
        self.out = asyncio.Event()
        self.after = -1
        self.page = EventPage()
        self.over = False
        """Nothing comes any more."""
        self._problem: Exception | None = None

    def publish(self, after: int, page: EventPage, *, over: bool) -> None:
        """Hand it to all who wait for it."""
        self.after, self.page, self.over = after, page, over
        self.out.set()

    def fail(self, problem: Exception) -> None:
        """Tell all who wait for it that it could not be read."""
        self._problem = problem
        self.out.set()

    async def arrived(self) -> None:
        """Return when it is out; raise what went wrong."""
        await self.out.wait()
        if self._problem is not None:
            raise self._problem


class RunBroadcast:
    """Looks for news of a run when its bell rings, and publishes what it finds.

    It keeps no old editions: who was slow finds that the next one begins after another number than
    theirs, and reads for themselves until they have caught up.
    """

    def __init__(
        self,
        read: Callable[[int], Awaitable[EventPage]],
        has_ended: Callable[[], Awaitable[bool]],
        pause_s: Callable[[], float],
    ) -> None:
        self._read, self._has_ended, self._pause_s = read, has_ended, pause_s
        self.readers = 0
        self.look_s = LOOK_S
        self.upto = 0
        """The last event that it, or anybody, has read."""
        self.next = NextPage()
        self._rung = asyncio.Event()
        self._closes_s: float | None = None
        self._task = asyncio.create_task(self._run())

    def ring(self) -> None:
        """There is news."""
        self._rung.set()

    def close(self) -> None:
        """Stop: nobody follows any more."""
        self._task.cancel()

    def note(self, page: EventPage) -> None:
        """Somebody has read these for themselves, or the press has."""
        self.upto = max(self.upto, page[-1].seq)
        if page.ends:
            self._closes_s = self._closes_s or _now() + LINGER_S
            self.ring()  # it may be asleep for longer than whoever read this has to wait

    async def _run(self) -> None:
        while True:
            await self._news()
            after = self.upto
            try:
                page = await self._read(after)
                over = not page and await self._is_over()
            except Exception as problem:
                self._change().fail(problem)
                continue
            if page:
                self.note(page)
            self._change().publish(after, page, over=over)
            if 0 < len(page) < PAGE:
                await asyncio.sleep(self._pause_s())

    async def _news(self) -> None:
        """Wait until it is worth a look."""
        if not self._rung.is_set():
            left_s = 0.0 if self._closes_s is None else self._closes_s - _now()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s if left_s > 0 else self.look_s):
                    await self._rung.wait()
        self._rung.clear()

    async def _is_over(self) -> bool:
        if self._closes_s is not None:
            return _now() >= self._closes_s
        return await self._has_ended()

    def _change(self) -> NextPage:
        """Return the edition that is due; from now on one waits for the next."""
        due, self.next = self.next, NextPage()
        return due


def _now() -> float:
    return asyncio.get_running_loop().time()


PAUSE_S = 0.1
"""The shortest time between two looks: news in between travels together."""
PAUSE_OF_ONE_S = 0.002
"""How much longer that time is for each follower there is: what they cost together stays the same.
"""
MOST = 2_000
"""Followers at once, in one process."""


class _Bell:
    """One for all who follow all runs: to ring it before anybody has listened costs nothing."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        if not self._rung.is_set():
            self._rung.set()

    def hear(self) -> asyncio.Event:
        """Return what will be set at the next ring from now on."""
        if self._rung.is_set():
            self._rung = asyncio.Event()
        return self._rung


class Feed:
    """Tells followers that there is news, and reads it for them."""

    def __init__(self, archive: RunQueries, *, most: int = MOST) -> None:
        self._archive = archive
        self._most = most
        self._presses: dict[str, RunBroadcast] = {}
        self._bell = _Bell()
        self._reading: dict[tuple[str, int], asyncio.Task[EventPage]] = {}
        self.followers = 0

    def tell(self, execution_id: str) -> None:
        """A run has news."""
        self._bell.ring()
        if (press := self._presses.get(execution_id)) is not None:
            press.ring()

    def tell_all(self) -> None:
        """There may be news of any run."""
        self._bell.ring()
        for press in self._presses.values():
            press.ring()

    async def is_over(self, execution_id: str, after: int) -> bool:
        """Return whether a run has ended and has no event above a number."""
        return await self._has_ended(execution_id) and not await self._page(execution_id, after)

    async def follow(
        self, execution_id: str, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[EventPage]:
        """Yield the events above `after`, page by page and in order, until the run has ended.

        An empty page is a sign of life, after `heartbeat_s` without news.
        """
        clock = asyncio.get_running_loop().time
        spoke = clock()
        with self._listening(execution_id, heartbeat_s) as press:
            while True:
                coming = press.next  # before the look, so that nothing falls between the two
                page = await self._page(execution_id, after)
                if page:
                    press.note(page)
                    yield page
                    spoke, after = clock(), page[-1].seq
                    if len(page) == PAGE or press.upto > after:
                        continue
                elif await self.is_over(execution_id, after):
                    return
                while True:
                    await coming.arrived()
                    if coming.after != after:
                        break
                    if coming.over:
                        return
                    if coming.page or clock() - spoke >= heartbeat_s:
                        yield coming.page
                        spoke = clock()
                    after = coming.page[-1].seq if coming.page else after
                    if press.upto != after:
                        break
                    coming = press.next

    async def follow_all(
        self, query: EventQuery, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[list[PlacedEvent]]:
        """Yield the events of all runs after a place, page by page and in order, without an end.

        An empty page is a sign of life, after `heartbeat_s` without news.
        """
        clock = asyncio.get_running_loop().time
        spoke = clock()
        with self._counted():
            while True:
                rung = self._bell.hear()
                page, after = await self._archive.all_events(query, after=after, limit=PAGE)
                if page or clock() - spoke >= heartbeat_s:
                    yield page
                    spoke = clock()
                if len(page) == PAGE:
                    continue
                await self._pause()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(LOOK_S, heartbeat_s)):
                        await rung.wait()

    async def _pause(self) -> None:
        """Sleep to the next of the moments at which all who follow all runs look."""
        pause_s = self._pause_s()
        await asyncio.sleep(pause_s - asyncio.get_running_loop().time() % pause_s)

    def _pause_s(self) -> float:
        return PAUSE_S + PAUSE_OF_ONE_S * self.followers

    async def _has_ended(self, execution_id: str) -> bool:
        run = await self._archive.run(execution_id)
        return run is not None and run.ended_ms is not None

    async def _page(self, execution_id: str, after: int) -> EventPage:
        key = (execution_id, after)
        reading = self._reading.get(key)
        if reading is None:
            reading = self._reading[key] = asyncio.ensure_future(self._read(*key))
            reading.add_done_callback(lambda _: self._reading.pop(key, None))
        # Shielded: the question goes on for the others when one of them leaves.
        return await asyncio.shield(reading)

    async def _read(self, execution_id: str, after: int) -> EventPage:
        return EventPage(await self._archive.events(execution_id, after=after, limit=PAGE))

    def check_room(self) -> None:
        """Raise ConflictError when nobody more can follow."""
        if self.followers >= self._most:
            raise StateConflictError(
                f"{self._most} streams are open here already: close some, or ask another master",
                "TOO_MANY_STREAMS",
            )

    @contextmanager
    def _listening(self, execution_id: str, heartbeat_s: float) -> Iterator[RunBroadcast]:
        with self._counted():
            press = self._presses.get(execution_id)
            if press is None:
                press = self._presses[execution_id] = RunBroadcast(
                    lambda after: self._page(execution_id, after),
                    lambda: self._has_ended(execution_id),
                    self._pause_s,
                )
            press.look_s = min(press.look_s, heartbeat_s)
            press.readers += 1
            try:
                yield press
            finally:
                press.readers -= 1
                if not press.readers:
                    press.close()
                    del self._presses[execution_id]

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.check_room()
        self.followers += 1
        try:
            yield
        finally:
            self.followers -= 1
