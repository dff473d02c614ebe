"""The news of one run, read once for all who follow it and have seen everything before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from onward.ports.events import Event

PAGE = 500
"""Events in one page."""
LOOK_S = 2.0
"""After this time the press looks although nobody told of news: a word may get lost."""
LINGER_S = 1.0
"""How long to wait for late news when a run has ended."""


class Page(list[Event]):
    """Events that several followers share, with the form in which they are sent."""

    written: bytes | None = None

    @property
    def ends(self) -> bool:
        """Whether it tells the end of the run."""
        return any(one.type == "run.ended" for one in self)


class Edition:
    """What came after a number, once it is out: a page, an empty one, or why there is none."""

    __slots__ = ("_problem", "after", "out", "over", "page")

    def __init__(self) -> None:
        self.out = asyncio.Event()
        self.after = -1
        self.page = Page()
        self.over = False
        """Nothing comes any more."""
        self._problem: Exception | None = None

    def publish(self, after: int, page: Page, *, over: bool) -> None:
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


class Press:
    """Looks for news of a run when its bell rings, and publishes what it finds.

    It keeps no old editions: who was slow finds that the next one begins after another number than
    theirs, and reads for themselves until they have caught up.
    """

    def __init__(
        self,
        read: Callable[[int], Awaitable[Page]],
        has_ended: Callable[[], Awaitable[bool]],
        pause_s: Callable[[], float],
    ) -> None:
        self._read, self._has_ended, self._pause_s = read, has_ended, pause_s
        self.readers = 0
        self.look_s = LOOK_S
        self.upto = 0
        """The last event that it, or anybody, has read."""
        self.next = Edition()
        self._rung = asyncio.Event()
        self._closes_s: float | None = None
        self._task = asyncio.create_task(self._run())

    def ring(self) -> None:
        """There is news."""
        self._rung.set()

    def close(self) -> None:
        """Stop: nobody follows any more."""
        self._task.cancel()

    def note(self, page: Page) -> None:
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

    def _change(self) -> Edition:
        """Return the edition that is due; from now on one waits for the next."""
        due, self.next = self.next, Edition()
        return due


def _now() -> float:
    return asyncio.get_running_loop().time()
