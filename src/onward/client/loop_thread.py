"""An event loop in a thread of its own, for programs that have none; and methods that use it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onward.client.errors import UnreachableError

T = TypeVar("T")
P = ParamSpec("P")
_CLOSED = "the engine was closed meanwhile"


class Portal:
    """Runs coroutines for callers of any thread, until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._quiet = False
        self._lock = threading.Lock()
        """A call begins before `quiet`, which then cancels it, or is refused after it."""
        self._working: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="onward-client", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine; an interrupted caller cancels it."""
        with self._lock:
            if self._quiet:
                work.close()
                raise UnreachableError(_CLOSED)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._working.add(future)
        future.add_done_callback(self._working.discard)
        try:
            return future.result()
        except CancelledError:
            raise UnreachableError(_CLOSED) from None
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
        """Cancel every call, which its caller sees as an error, and refuse new ones."""
        with self._lock:
            self._quiet = True
        for future in tuple(self._working):
            future.cancel()

    def close(self, last: Coroutine[Any, Any, None] | None = None) -> None:
        """End the loop and its thread, after the last thing that is to be done there."""
        if not self._thread.is_alive():
            return
        try:
            if last is not None:
                asyncio.run_coroutine_threadsafe(last, self._loop).result()
        finally:
            # In its own thread: the caller's may have a running loop, as in a notebook.
            left = asyncio.run_coroutine_threadsafe(self._loop.shutdown_asyncgens(), self._loop)
            left.result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _next(source: AsyncIterator[T]) -> T:
    return await anext(source)


async def _closed(close: Any) -> None:
    await close()


# -- mirrors: methods for coroutines as methods that wait ----------------------------------------


class Mirror(Protocol):
    """An object with methods for coroutines, and the portal in which those run."""

    @property
    def portal(self) -> Portal:
        """Return where coroutines run."""
        ...

    @property
    def inner(self) -> Any:
        """Return what has the methods for coroutines."""
        ...


def mirror_call(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Mirror, P], T]:
    """Return a method that waits for the result of `method` of `inner`."""

    def call(self: Mirror, /, *given: P.args, **more: P.kwargs) -> T:
        return self.portal.call(method(self.inner, *given, **more))

    update_wrapper(call, method)
    return call


def mirror_iterator(
    method: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[Mirror, P], Iterator[T]]:
    """Return a method that iterates over what `method` of `inner` yields."""

    def iterate(self: Mirror, /, *given: P.args, **more: P.kwargs) -> Iterator[T]:
        return self.portal.iterate(method(self.inner, *given, **more))

    update_wrapper(iterate, method)
    return iterate
