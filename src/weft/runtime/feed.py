"""Following runs live: whoever follows holds a number, and pulls the next page when there is news.

Nothing is queued for anybody, so a follower that is slow, or many of them, cost no memory. Those
that stand at the same number share one question to the archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from weft.ports.archive import Archive, EventQuery, PlacedEvent
from weft.ports.events import Event
from weft.runtime.refusals import ConflictError

PAGE = 500
"""Events in one page."""
PAUSE_S = 0.1
"""The shortest time between two looks of one follower: news in between travels together."""
PAUSE_OF_ONE_S = 0.002
"""How much longer that time is for each follower there is."""
LOOK_S = 2.0
"""After this time a follower looks although nobody told of news: a word may get lost."""
LINGER_S = 1.0
"""How long to wait for late news when a run has ended."""
ANY = ""
"""Whose news they hear who follow no run in particular."""
MOST = 2_000
"""Followers at once, in one process."""


class Page(list[Event]):
    """Events that several followers share, with the form in which they are sent."""

    written: bytes | None = None


class _Bell:
    """One for all who follow a run: to ring it again before anybody has listened costs nothing."""

    def __init__(self) -> None:
        self.listeners = 0
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

    def __init__(self, archive: Archive, *, most: int = MOST) -> None:
        self._archive = archive
        self._most = most
        self._bells: dict[str, _Bell] = {}
        self._reading: dict[tuple[str, int], asyncio.Task[Page]] = {}
        self.followers = 0

    def tell(self, execution_id: str) -> None:
        """A run has news."""
        for name in (execution_id, ANY):
            if (bell := self._bells.get(name)) is not None:
                bell.ring()

    def tell_all(self) -> None:
        """There may be news of any run."""
        for bell in self._bells.values():
            bell.ring()

    async def is_over(self, execution_id: str, after: int) -> bool:
        """Return whether a run has ended and has no event above a number."""
        run = await self._archive.run(execution_id)
        if run is None or run.ended_ms is None:
            return False
        return not await self._page(execution_id, after)

    async def follow(
        self, execution_id: str, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[Page]:
        """Yield the events above `after`, page by page and in order, until the run has ended.

        An empty page is a sign of life, after `heartbeat_s` without news.
        """
        clock = asyncio.get_running_loop().time
        spoke, over = clock(), False
        with self._listening(execution_id) as bell:
            while True:
                rung = bell.hear()
                page = await self._page(execution_id, after)
                if page:
                    yield page
                    spoke, after = clock(), page[-1].seq
                    over = over or any(one.type == "run.ended" for one in page)
                    if len(page) == PAGE:
                        continue
                    await self._pause()
                elif over or await self.is_over(execution_id, after):
                    return
                elif clock() - spoke >= heartbeat_s:
                    yield Page()
                    spoke = clock()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LINGER_S if over else min(LOOK_S, heartbeat_s)):
                        await rung.wait()

    async def follow_all(
        self, query: EventQuery, after: int, *, heartbeat_s: float
    ) -> AsyncIterator[list[PlacedEvent]]:
        """Yield the events of all runs after a place, page by page and in order, without an end.

        An empty page is a sign of life, after `heartbeat_s` without news.
        """
        clock = asyncio.get_running_loop().time
        spoke = clock()
        with self._listening(ANY) as bell:
            while True:
                rung = bell.hear()
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
        """Sleep to the next of the moments at which all followers look.

        They look together, so that those at the same number share the question and the answer;
        and the more they are, the less often: what they cost together stays the same.
        """
        pause_s = PAUSE_S + PAUSE_OF_ONE_S * self.followers
        await asyncio.sleep(pause_s - asyncio.get_running_loop().time() % pause_s)

    async def _page(self, execution_id: str, after: int) -> Page:
        key = (execution_id, after)
        reading = self._reading.get(key)
        if reading is None:
            reading = self._reading[key] = asyncio.ensure_future(self._read(*key))
            reading.add_done_callback(lambda _: self._reading.pop(key, None))
        # Shielded: the question goes on for the others when one of them leaves.
        return await asyncio.shield(reading)

    async def _read(self, execution_id: str, after: int) -> Page:
        return Page(await self._archive.events(execution_id, after=after, limit=PAGE))

    def check_room(self) -> None:
        """Raise ConflictError when nobody more can follow."""
        if self.followers >= self._most:
            raise ConflictError(
                f"{self._most} streams are open here already: close some, or ask another master",
                "TOO_MANY_STREAMS",
            )

    @contextmanager
    def _listening(self, execution_id: str) -> Iterator[_Bell]:
        self.check_room()
        bell = self._bells.setdefault(execution_id, _Bell())
        self.followers += 1
        bell.listeners += 1
        try:
            yield bell
        finally:
            self.followers -= 1
            bell.listeners -= 1
            if not bell.listeners:
                del self._bells[execution_id]
