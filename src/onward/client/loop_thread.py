"""An event loop in a thread of its own, for whoever has none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onward.client.errors import UnreachableError

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


# -- Methods for coroutines as methods that wait, with the same parameters and the same words.


P = ParamSpec("P")


class Mirror(Protocol):
    """Has something for coroutines, and a place where those run."""

    @property
    def portal(self) -> Portal:
        """Return where coroutines run."""
        ...

    @property
    def inner(self) -> Any:
        """Return what has the methods for coroutines."""
        ...


def waiting(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Mirror, P], T]:
    """Return a method that waits for what `method` of `inner` comes to."""

    def call(self: Mirror, /, *given: P.args, **more: P.kwargs) -> T:
        return self.portal.call(method(self.inner, *given, **more))

    update_wrapper(call, method)
    return call


def iterating(
    method: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[Mirror, P], Iterator[T]]:
    """Return a method that iterates over what `method` of `inner` yields."""

    def iterate(self: Mirror, /, *given: P.args, **more: P.kwargs) -> Iterator[T]:
        return self.portal.iterate(method(self.inner, *given, **more))

    update_wrapper(iterate, method)
    return iterate
