"""Following runs live: whoever follows holds a number, and pulls the next page when there is news.

Nothing is queued for anybody, so a follower that is slow, or many of them, cost no memory. Those
who follow one run and have seen everything so far are told by its press, which asks the archive
once for all of them; whoever is behind asks for themselves, and shares the answer with those who
stand at the same number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from onward.ports.archive import Archive, EventQuery, PlacedEvent
from onward.runtime.press import LOOK_S, PAGE, Page, Press
from onward.runtime.refusals import ConflictError

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

    def __init__(self, archive: Archive, *, most: int = MOST) -> None:
        self._archive = archive
        self._most = most
        self._presses: dict[str, Press] = {}
        self._bell = _Bell()
        self._reading: dict[tuple[str, int], asyncio.Task[Page]] = {}
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
    ) -> AsyncIterator[Page]:
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
    def _listening(self, execution_id: str, heartbeat_s: float) -> Iterator[Press]:
        with self._counted():
            press = self._presses.get(execution_id)
            if press is None:
                press = self._presses[execution_id] = Press(
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
