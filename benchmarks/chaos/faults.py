"""Doing what the plan says: each fault ends when whoever it hit could be at work again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from contextlib import aclosing, suppress

import msgspec
from benchmarks.chaos.plan import Fault, Plan
from benchmarks.chaos.processes import Processes, go_on
from benchmarks.chaos.proxy import Proxy
from benchmarks.chaos.servers import Server

from onward.adapters.host.clock import HostChance
from onward.bootstrap.cluster import Cluster
from onward.errors import OnwardError
from onward.kernel.messages import decode_token, encode_message
from onward.ports.cluster.bus import Delivery

TAKEN_AT_ONCE = 5
TAKING_S = 1.0
KEPT = 200
DOWN_S = (0.0, 1.0)
"""How long a service stays away between its end and its next start."""


class Breaker:
    """Breaks things, one fault at a time for each target."""

    def __init__(
        self,
        plan: Plan,
        cluster: Cluster,
        processes: Processes,
        servers: Mapping[str, Server],
        proxies: Mapping[str, Proxy],
    ) -> None:
        self._dice = random.Random(f"{plan.seed}/details")
        self._cluster = cluster
        self._processes = processes
        self._servers = servers
        self._proxies = proxies
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._captured: defaultdict[str, deque[bytes]] = defaultdict(lambda: deque(maxlen=KEPT))
        """Queue -> messages that were in it once."""
        self.done: Counter[str] = Counter()
        """By kind."""
        self.groups: Counter[str] = Counter()
        self.copies = 0
        """Messages that were published once more."""

    async def inflict(self, fault: Fault) -> None:
        """Do one fault; return when it is over."""
        async with self._locks[_room(fault)]:
            await self._do(fault)
        self.done[fault.kind] += 1
        self.groups[fault.group] += 1

    async def _do(self, fault: Fault) -> None:
        match fault.group:
            case "worker" | "scheduler" | "master":
                await asyncio.to_thread(self._processes.kill, fault.target)
            case "freeze" | "lease":
                process = self._processes.stop(fault.target)
                await asyncio.sleep(fault.lasts_s)
                go_on(process)
            case "broker" | "redis" | "postgres":
                server = self._servers[fault.target]
                await asyncio.to_thread(server.stop, fault.variant)
                await asyncio.sleep(self._dice.uniform(*DOWN_S))
                await asyncio.to_thread(server.start)
            case "cut" if fault.variant == "all connections":
                self._proxies[fault.target].cut_all()
            case "cut":
                self._proxies[fault.target].cut_one(self._dice)
            case "stall":
                await self._proxies[fault.target].stall(
                    self._dice.choice(("to the service", "from the service")),
                    fault.lasts_s,
                    then_cut=fault.variant == "then cut",
                )
            case "duplicate" | "news":
                with suppress(OnwardError):  # nothing can be duplicated while the broker is away
                    await self._duplicate(fault)
            case "wipe":
                await self._cluster.redis.flushall()
            case _:
                raise AssertionError(f"no such fault: {fault}")

    async def _duplicate(self, fault: Fault) -> None:
        """Publish what is in a queue, or once was, a second time."""
        captured = self._captured[fault.target]
        if fault.variant == "late" and captured:
            for body in self._dice.choices(captured, k=TAKEN_AT_ONCE):
                await self._again(fault.target, body)
            return
        consuming = self._cluster.bus.consume(fault.target, prefetch=TAKEN_AT_ONCE)
        async with aclosing(consuming) as deliveries:
            try:
                async with asyncio.timeout(TAKING_S):
                    taken = 0
                    while taken < TAKEN_AT_ONCE:
                        await self._copy(await anext(deliveries), fault)
                        taken += 1
            except (TimeoutError, StopAsyncIteration):
                return

    async def _copy(self, delivery: Delivery, fault: Fault) -> None:
        body = delivery.body
        try:
            self._captured[fault.target].append(body)
            other = fault.variant == "other publish id"
            await self._again(fault.target, _renamed(body) if other else body)
        finally:
            await delivery.give_back()

    async def _again(self, queue: str, body: bytes) -> None:
        await self._cluster.bus.publish(queue, body)
        self.copies += 1


def _room(fault: Fault) -> str:
    """Return what only one fault may touch at a time: a network has room for several."""
    busy = fault.group in {"cut", "stall", "duplicate", "news", "wipe", "freeze", "lease"}
    return f"{fault.group}/{fault.target}" if busy else fault.target


def _renamed(body: bytes) -> bytes:
    """Return a token as another publish would have sent it."""
    named = HostChance().publish_id()
    return encode_message(msgspec.structs.replace(decode_token(body), publish_id=named))
