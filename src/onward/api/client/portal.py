"""An event loop in a thread of its own, for whoever has none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from onward.api.client.failures import UnreachableError

T = TypeVar("T")
CLOSED = "the engine was closed meanwhile"


class Portal:
    """Runs coroutines for callers of any thread, until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._quiet = False
        self._door = threading.Lock()
        """Whoever comes is let in before `quiet`, and told by it, or is turned away after it."""
        self._working: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="onward-client", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine comes to; whoever is interrupted cancels it."""
        with self._door:
            if self._quiet:
                work.close()
                raise UnreachableError(CLOSED)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._working.add(future)
        future.add_done_callback(self._working.discard)
        try:
            return future.result()
        except CancelledError:
            raise UnreachableError(CLOSED) from None
        except BaseException:
            future.cancel()
            raise

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Iterate over what an asynchronous iterator yields; leaving early closes it."""
        try:
            while True:
                try:
                    yield self.call(_next(source))
                except StopAsyncIteration:
                    return
        finally:
            close = getattr(source, "aclose", None)
            if close is not None and self._thread.is_alive() and not self._quiet:
                self.call(_closed(close))

    def quiet(self) -> None:
        """Cancel everything that is under way: whoever waits for it is told, and let nobody in."""
        with self._door:
            self._quiet = True
        for one in tuple(self._working):
            one.cancel()

    def close(self, last: Coroutine[Any, Any, None] | None = None) -> None:
        """End the loop and its thread, after the last thing that is to be done there."""
        if not self._thread.is_alive():
            return
        if last is not None:
            asyncio.run_coroutine_threadsafe(last, self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _next(source: AsyncIterator[T]) -> T:
    return await anext(source)


async def _closed(close: Any) -> None:
    await close()
