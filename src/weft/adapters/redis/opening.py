"""From a URL to a Redis that can be trusted with the state of runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from weft.errors import StorageError
from weft.ports.outside import Log

OLDEST = (7, 0)
CONNECTIONS = 16
RETRIES = 5


async def open_redis(url: str, log: Log) -> Redis:
    """Connect and check the server; StorageError, one line with the remedy, when it will not do.

    An eviction policy other than `noeviction` is refused: it would delete barriers of living runs.
    Without an append-only file a warning is written: a restart then forgets running executions.
    """
    place = _place(url)
    try:
        # Whoever finds all connections busy waits for one; an error would only be tried again.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=20,
            socket_timeout=10,
            socket_connect_timeout=5,
            # Everything we ask may be asked again, so a server that restarts is only a delay.
            retry=Retry(ExponentialBackoff(cap=1, base=0.05), RETRIES),
            retry_on_error=[RedisConnectionError, RedisTimeoutError],
        )
        redis: Redis = Redis.from_pool(pool)
    except ValueError as problem:
        raise StorageError(f"{place} is not a Redis URL: {problem}") from None
    try:
        await _check(redis, place, log)
    except AuthenticationError:
        raise await _refused(redis, f"Redis at {place} refused the password") from None
    except (RedisError, OSError) as problem:
        text = f"Redis at {place} cannot be used: {problem}; is it running there?"
        raise await _refused(redis, text) from None
    except StorageError:
        await redis.aclose()
        raise
    return redis


async def _check(redis: Redis, place: str, log: Log) -> None:
    facts: Any = await redis.info()
    version = str(facts.get("valkey_version") or facts["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise StorageError(f"Redis at {place} is version {version}; 7.0 or newer is needed")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise StorageError(
            f"Redis at {place} evicts keys ({policy}), which would break running workflows: "
            "CONFIG SET maxmemory-policy noeviction"
        )
    if not facts.get("aof_enabled"):
        log.write("warning", f"Redis at {place} has no append-only file: a restart loses runs")


async def _refused(redis: Redis, text: str) -> StorageError:
    await redis.aclose()
    return StorageError(text)


def _place(url: str) -> str:
    """Return where a URL leads, without its user and password."""
    parts = urlsplit(url)
    return f"{parts.hostname or parts.path}:{parts.port or 6379}"
