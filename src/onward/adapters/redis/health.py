"""The health of a Redis, read without changing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from onward.adapters.redis.connection import failure, place_of
from onward.errors import StorageError
from onward.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class RedisFacts:
    """Facts about a Redis or Valkey."""

    place: str
    product: str
    version: str
    role: str
    policy: str
    append_only: bool
    fsync: str
    """When the append-only file is synced; empty where the server does not say."""
    used_bytes: int
    limit_bytes: int
    """0 when there is no limit."""
    ahead_ms: int
    """How far its clock is ahead of this machine's."""


async def inspect_redis(url: str, clock: Clock) -> RedisFacts:
    """Return facts about the server at `url`; StorageError when it cannot be reached or read."""
    place = place_of(url)
    try:
        redis: Redis = Redis.from_url(url, socket_timeout=10, socket_connect_timeout=5)
    except ValueError as problem:
        raise StorageError(f"{place} is not a Redis URL: {problem}") from None
    try:
        return await _facts(redis, place, clock)
    except (RedisError, OSError) as problem:
        raise failure(problem, place) from None
    finally:
        await redis.aclose()


async def _facts(redis: Redis, place: str, clock: Clock) -> RedisFacts:
    info: Any = await redis.info()
    valkey = info.get("valkey_version")
    before_ms = clock.now_ms()
    seconds, micros = await redis.time()
    between_ms = (before_ms + clock.now_ms()) // 2
    return RedisFacts(
        place=place,
        product="Valkey" if valkey else "Redis",
        version=str(valkey or info["redis_version"]),
        role=str(info.get("role", "master")),
        policy=str(info.get("maxmemory_policy", "noeviction")),
        append_only=bool(info.get("aof_enabled")),
        fsync=await _fsync(redis),
        used_bytes=int(info.get("used_memory", 0)),
        limit_bytes=int(info.get("maxmemory", 0)),
        ahead_ms=seconds * 1000 + micros // 1000 - between_ms,
    )


async def _fsync(redis: Redis) -> str:
    try:
        answer: Any = await redis.config_get("appendfsync")
    except ResponseError:  # hosted services keep CONFIG for themselves
        return ""
    return str(answer.get("appendfsync", ""))
