"""Timers by the thousand and by the million, on a scheduler of its own: `scale.py` shows them."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from cluster import Bench, say

from onward.adapters.redis.keys import Keys
from onward.adapters.redis.script_caller import script
from onward.adapters.redis.timers import CHANNEL, KEYS, RedisTimers, timer_name
from onward.bootstrap.host import now_ms
from onward.kernel.messages import Token, encode_message
from onward.runtime.queues import EXECUTION

CHUNK = 2_000
FAR_MS = 3_600_000


class Arrivals:
    """When the token of each timer arrived."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.counts: Counter[str] = Counter()


@asynccontextmanager
async def arrivals(at: Bench) -> AsyncIterator[Arrivals]:
    """Take what the scheduler sends, in place of the workers."""
    found = Arrivals()

    async def take() -> None:
        async for delivery in at.cluster.bus.consume(EXECUTION, prefetch=1_000):
            name = msgspec.json.decode(delivery.body)["token_id"]
            found.counts[name] += 1
            found.times.setdefault(name, now_ms())
            await delivery.ack()

    taking = asyncio.create_task(take())
    try:
        yield found
    finally:
        taking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await taking


def body(run: str, name: str) -> bytes:
    """Return a token of about the size that a wait has."""
    context = {"$trigger": msgspec.Raw(b'{"text":"' + b"x" * 200 + b'"}')}
    return encode_message(
        Token(
            workflow_id="waiting",
            execution_id=run,
            current_node="pause",
            accumulated_context=context,
            token_id=name,
            publish_id=name,
            parent="parent",
            outcome="ok",
            signal="resume",
            definition_ref="d" * 64,
        )
    )


async def set_many(at: Bench, names: list[tuple[str, str]], due_ms: int, apart_ms: int) -> None:
    """Set timers (run, name) as workers do, many to a round trip, `apart_ms` between two."""
    redis = at.cluster.redis
    setting = script("set_timer")
    await redis.script_load(setting.source)
    for start in range(0, len(names), CHUNK):
        pipe = redis.pipeline(transaction=False)
        for number, (run, name) in enumerate(names[start : start + CHUNK], start):
            due = due_ms + number * apart_ms
            words = (timer_name(run, name), due, body(run, name), CHANNEL, name)
            keys = (*KEYS[:3], Keys(run).timers, Keys(run).done)
            pipe.evalsha(setting.sha, len(keys), *keys, *words)
        await pipe.execute()
        if start and start % 100_000 == 0:
            say(f"  {start:,} are set")


async def at_once(at: Bench, count: int) -> dict[str, Any]:
    """Return how late timers fire that are all due at the same instant."""
    names = [(f"run{number % 100}", f"t{number}") for number in range(count)]
    due_ms = now_ms() + 2_000 + count // 5
    await set_many(at, names, due_ms, 0)
    ready_ms = due_ms - now_ms()
    say(f"  {count:,} are set, due in {ready_ms} ms")
    async with arrivals(at) as found:
        until = time.monotonic() + 60 + ready_ms / 1000
        while len(found.times) < count and time.monotonic() < until:
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)  # for those that would come twice
    late = sorted(time_ - due_ms for time_ in found.times.values())
    left = await at.cluster.redis.exists(*KEYS, *(Keys(f"run{n}").timers for n in range(100)))
    return {
        "timers": count,
        "arrived": len(late),
        "twice": sum(count > 1 for count in found.counts.values()),
        "early": sum(one < 0 for one in late),
        "p50 ms late": late[len(late) // 2],
        "p100 ms late": late[-1],
        "keys left": left,
        "ok": ready_ms > 0
        and len(late) == count == found.counts.total()
        and late[0] >= 0
        and late[-1] <= 3_000
        and not left,
    }


async def pending(at: Bench, count: int) -> dict[str, Any]:
    """Return what many timers cost that are not due: memory, a look, a wake-up, an ended run."""
    redis = at.cluster.redis
    timers = RedisTimers(redis)
    many = min(count // 2, 50_000)
    names = [("large" if n < many else f"run{n % 1_000}", f"t{n}") for n in range(count)]
    before: Any = await redis.info("memory")
    began = time.monotonic()
    await set_many(at, names, now_ms() + FAR_MS, 1)
    set_s = time.monotonic() - began
    after: Any = await redis.info("memory")
    looks = [await _ms(timers.claim_due(now_ms(), 1_000, 500)) for _ in range(200)]
    few_ms = await _ms(timers.cancel_all("run1"))
    many_ms = await _ms(timers.cancel_all("large"))
    wakes = await _wakes(at, timers)
    return {
        "timers": count,
        "set/s": round(count / set_s),
        "bytes each": round((after["used_memory"] - before["used_memory"]) / count),
        "look ms": round(statistics.median(looks), 2),
        "look p100 ms": round(max(looks), 2),
        f"cancel run of {count // 1_000:,} ms": round(few_ms, 1),
        f"cancel run of {many:,} ms": round(many_ms, 1),
        "wake p100 ms": round(max(wakes), 1),
        "ok": max(wakes) < 1_000,
    }


async def _wakes(at: Bench, timers: RedisTimers) -> list[float]:
    """Return how long timers take that are set for now while the scheduler sleeps."""
    took = []
    async with arrivals(at) as found:
        for number in range(20):
            name = f"near{number}"
            began_ms = now_ms()
            await timers.set("near", name, began_ms, body("near", name))
            for _ in range(3_000):
                if name in found.times:
                    break
                await asyncio.sleep(0.002)
            took.append(found.times.get(name, began_ms + 99_999) - began_ms)
            await asyncio.sleep(0.1)
    return took


async def _ms(work: Any) -> float:
    began = time.perf_counter()
    await work
    return 1000 * (time.perf_counter() - began)
