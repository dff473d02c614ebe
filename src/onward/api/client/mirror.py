"""Methods for coroutines as methods that wait, with the same parameters and the same words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onward.api.client.portal import Portal

P = ParamSpec("P")
T = TypeVar("T")


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
