"""Telling outages apart: what waiting may cure, what it cannot, and what is no outage at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import asyncpg
from pika.exceptions import (  # type: ignore[import-untyped]  # carries no py.typed
    AMQPError,
    AuthenticationError,
    ConnectionClosedByBroker,
    IncompatibleProtocolError,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)
from redis.exceptions import AuthenticationError as RedisAuthenticationError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from weft.errors import StorageError
from weft.ports.bus import BusError

Outage: TypeAlias = BusError | StorageError | RedisError | OSError

_REFUSALS = (
    AuthenticationError,
    ProbableAuthenticationError,
    ProbableAccessDeniedError,
    IncompatibleProtocolError,
    RedisAuthenticationError,
)
_REFUSED_CODES = (403, 530)
_PASSING = (
    OSError,
    AMQPError,
    RedisConnectionError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
)


def outage_of(problem: BaseException) -> Outage | None:
    """Return the first outage in a group of nothing else; None when there is more than that."""
    leaves = list(_leaves(problem))
    outages = [one for one in leaves if isinstance(one, Outage)]
    return outages[0] if len(outages) == len(leaves) else None


def may_pass(problem: Outage) -> bool:
    """Return whether a service that could not be opened may be there later.

    A refused user, an old server or a queue of another kind stays what it is.
    """
    causes = list(_causes(problem))
    if any(map(_refuses, causes)):
        return False
    return any(isinstance(one, _PASSING) for one in causes)


def _refuses(cause: BaseException) -> bool:
    if isinstance(cause, ConnectionClosedByBroker):
        return cause.reply_code in _REFUSED_CODES
    return isinstance(cause, _REFUSALS)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for one in problem.exceptions:
            yield from _leaves(one)
    else:
        yield problem


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """Iterate over an error and all that led to it, also what its own text stands in for."""
    yield problem
    inner = [*getattr(problem, "exceptions", ()), problem.__cause__ or problem.__context__]
    for one in inner:
        if isinstance(one, BaseException):
            yield from _causes(one)
