"""From a URL to a Redis that can be trusted with the state of runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from onward.errors import StorageError, StorageUnavailableError
from onward.ports.nodes.outside import Log

OLDEST_VERSION = (7, 0)
CONNECTIONS = 16
RETRIES = 5
FORMAT_KEY = "onward:format"
FORMAT = 1
"""The layout of runs in keys. It is raised when a release that reads the old layout would misread
the new one, so such releases never share a database."""


async def open_redis(url: str, log: Log) -> Redis:
    """Connect and check the server; StorageError, one line with the remedy, when it will not do.

    An eviction policy other than `noeviction` is refused: it would delete barriers of living runs.
    Without an append-only file a warning is written: a restart then forgets running executions.
    A database that another release lays out differently is refused. StorageUnavailableError, at
    once, when no server answers.
    """
    place = place_of(url)
    if "://" not in url:
        raise StorageError(f"{place} is not a Redis URL: write redis://HOST:PORT/DATABASE")
    try:
        # A caller that finds all connections busy waits for one; an error would only be retried.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=20,
            socket_timeout=10,
            socket_connect_timeout=5,
            # Every call may be repeated, so a server that restarts is only a delay.
            retry=Retry(ExponentialBackoff(cap=1, base=0.05), RETRIES),
            retry_on_error=[RedisConnectionError, RedisTimeoutError],
        )
        # Without retries: the caller decides whether to wait.
        first: Redis = Redis.from_url(
            url, socket_timeout=10, socket_connect_timeout=5, retry=Retry(NoBackoff(), 0)
        )
    except ValueError as problem:
        raise StorageError(f"{place} is not a Redis URL: {problem}") from None
    try:
        await _check(first, place, log)
    except (RedisError, OSError) as problem:
        raise failure(problem, place) from None
    finally:
        await first.aclose()
    return Redis.from_pool(pool)


async def _check(redis: Redis, place: str, log: Log) -> None:
    facts: Any = await redis.info()
    version = str(facts.get("valkey_version") or facts["redis_version"])
    check_version(version, place)
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise StorageError(
            f"Redis at {place} evicts keys ({policy}), which would break running workflows: "
            "CONFIG SET maxmemory-policy noeviction"
        )
    if not facts.get("aof_enabled"):
        log.write("warning", f"Redis at {place} has no append-only file: a restart loses runs")
    await redis.set(FORMAT_KEY, FORMAT, nx=True)
    found: Any = await redis.get(FORMAT_KEY)
    if found is not None and found != b"%d" % FORMAT:
        raise StorageError(
            f"Redis at {place} holds runs of another onward (format "
            f"{found.decode(errors='replace')}, this one writes {FORMAT}): run the release that "
            "wrote it, or use another database"
        )


def check_version(version: str, place: str) -> None:
    """Raise StorageError for a server that is too old."""
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VERSION:
        raise StorageError(_too_old(place, version))


def _too_old(place: str, version: str) -> str:
    return (
        f"Redis at {place} is version {version}; 7.0 or newer is needed: upgrade it, or use another"
    )


def failure(problem: Exception, place: str) -> StorageError:
    """Return the error that says why the server cannot be used, and what to do."""
    match problem:
        case AuthenticationError():
            return StorageError(
                f"Redis at {place} refused the password: correct user and password in the URL"
            )
        case NoPermissionError():
            return StorageError(
                f"Redis at {place} refuses: {problem}; give the user the right (ACL SETUSER)"
            )
        case ReadOnlyError():
            return StorageUnavailableError(
                f"Redis at {place} is a read-only replica: use the primary, or wait for it"
            )
        case OutOfMemoryError():
            return StorageUnavailableError(
                f"Redis at {place} has no memory left: raise maxmemory, or wait for runs to end"
            )
        case ResponseError() if "HELLO" in str(problem):
            # How a client greets since version 6: what does not know it is older.
            return StorageError(_too_old(place, "older than 6"))
        case ResponseError():
            return StorageError(f"Redis at {place} refuses: {problem}; correct the URL, or Redis")
        case _:
            return StorageUnavailableError(
                f"Redis at {place} cannot be used: {str(problem).rstrip('.')}; start it, or"
                " correct the URL"
            )


def place_of(url: str) -> str:
    """Return the address in a URL, without its user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname or parts.path}:{parts.port or 6379}"
