"""Telling outages apart: what waiting may cure, what it cannot, and what is no outage at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from redis.exceptions import RedisError

from onward.errors import StorageError, UnavailableError
from onward.ports.bus import BusError

Outage: TypeAlias = BusError | StorageError | RedisError | OSError


def outage_of(problem: BaseException) -> Outage | None:
    """Return the first outage in a group of nothing else; None when there is more than that."""
    leaves = list(_leaves(problem))
    outages = [one for one in leaves if isinstance(one, Outage)]
    return outages[0] if len(outages) == len(leaves) else None


def may_pass(problem: Outage) -> bool:
    """Return whether a service that could not be opened may be there later.

    A refused user, an old server or a queue of another kind stays what it is.
    """
    return isinstance(problem, UnavailableError)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for one in problem.exceptions:
            yield from _leaves(one)
    else:
        yield problem
