"""Snapshots of runs from their keys and timers in Redis: read only, in small commands and pages."""

from __future__ import annotations

from itertools import islice
from typing import Any

from redis.asyncio import Redis

from onward.adapters.redis.holders import read_notes
from onward.adapters.redis.keys import Keys
from onward.adapters.redis.timers import KEYS as TIMER_KEYS
from onward.adapters.redis.timers import PARKED, SEPARATOR, timer_name
from onward.adapters.redis.workers import RedisWorkerRegistry
from onward.kernel.flow import read_origin
from onward.kernel.messages import Token, decode_token, read_token
from onward.ports.cluster.inspection import (
    Arrival,
    Barrier,
    Inspector,
    Lease,
    ScopeState,
    Snapshot,
    TimerState,
)

MAX_GROUPS = 2_000
"""How many scopes and barriers a snapshot has: enough to understand a run, whatever its size."""
NAMES_PAGE = 200

_SCOPE = ("live", "closed", "owner", "fate", "left", "record", "dead", "merge", "arrival")


class RedisInspector:
    """The `Inspector` of a cluster."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def look(self, state_id: str) -> Snapshot:
        """Return what Redis holds about a run."""
        keys = Keys(state_id)
        asking: Any = self._redis.hexists(keys.done, "by")
        if await asking:
            return Snapshot(over=True)
        groups, unread = await self._groups(keys)
        splits = [group for group in groups if group and "/" not in group]
        scopes = [group for group in groups if not group or "/" in group]
        waiting: Any = self._redis.hget(keys.done, "paused")
        alarms, leases, parked = await self._alarms(keys, state_id)
        barriers = [await self._barrier(keys, split) for split in splits]
        return Snapshot(
            barriers=tuple(barrier for barrier in barriers if barrier is not None),
            scopes=tuple(
                [scope for page in _pages(scopes) for scope in await self._scopes(keys, page)]
            ),
            alarms=tuple(alarms),
            leases=leases,
            notes=await read_notes(self._redis, keys),
            workers={
                worker.name: worker.seen_ms
                for worker in await RedisWorkerRegistry(self._redis).workers()
            },
            paused=await waiting == b"1",
            parked=tuple(parked),
            unread=unread,
        )

    async def _groups(self, keys: Keys) -> tuple[list[str], int]:
        """Return the groups, the run itself and then the barriers first, and how many are left."""
        found = {name.decode() async for name in self._redis.sscan_iter(keys.groups, count=1_000)}
        ordered = sorted(found, key=lambda name: ("/" in name, name))
        return ordered[:MAX_GROUPS], max(0, len(ordered) - MAX_GROUPS)

    async def _barrier(self, keys: Keys, split: str) -> Barrier | None:
        head, origin, slot = keys.of(split, "head", "origin", "slot")
        fields = ("total", "window", "budget", "next", "failed", "verdict", "discarded")
        reading: Any = self._redis.hmget(head, fields)
        total, window, budget, sent, failed, verdict, discarded = await reading
        token = await self._redis.get(origin)
        if total is None or discarded is not None or token is None:
            return None
        slots = [int(index) async for index, _ in self._redis.hscan_iter(slot, count=1_000)]
        return Barrier(
            split=split,
            origin=read_origin(token),
            total=int(total),
            window=int(window),
            budget=int(budget) if budget else None,
            sent=int(sent),
            failed=int(failed),
            verdict=(verdict or b"").decode(),
            slots=frozenset(slots),
        )

    async def _scopes(self, keys: Keys, names: list[str]) -> list[ScopeState]:
        pipe = self._redis.pipeline(transaction=False)
        for name in names:
            live, closed, owner, fate, left, record, dead, merge, arrival = keys.of(name, *_SCOPE)
            pipe.get(live)
            pipe.exists(closed)
            for key in (owner, left, record, dead, merge):
                pipe.hkeys(key)
            for key in (fate, arrival):
                pipe.hgetall(key)
        answers = iter(await pipe.execute())
        return [_scope(name, list(islice(answers, len(_SCOPE)))) for name in names]

    async def _alarms(
        self, keys: Keys, state_id: str
    ) -> tuple[list[TimerState], dict[str, Lease], list[Token]]:
        """Return the timers of a run, the first to be due first; its leases; what is parked."""
        due, payloads, processing, owners = TIMER_KEYS
        found = [timer.decode() async for timer in self._redis.sscan_iter(keys.timers, count=1_000)]
        alarms: list[TimerState] = []
        leases: dict[str, Lease] = {}
        parked: list[Token] = []
        for page in _pages([timer_name(state_id, timer) for timer in sorted(found)]):
            pipe = self._redis.pipeline(transaction=False)
            for name in page:
                pipe.zscore(due, name)
                pipe.zscore(processing, name)
                pipe.hget(payloads, name)
                pipe.hexists(owners, name)
            answers = iter(await pipe.execute())
            for name, (due_ms, sent_ms, body, lease) in zip(
                page, zip(*[answers] * 4, strict=True), strict=True
            ):
                at_ms = due_ms if sent_ms is None else sent_ms
                if at_ms is None or body is None:
                    continue
                taken = sent_ms is not None
                if name.startswith(timer_name(state_id, PARKED)):
                    parked.append(decode_token(body))
                elif lease:
                    token = decode_token(body)  # a message as it came: its id may have to be found
                    leases[token.token_id] = Lease(until_ms=int(at_ms), over=taken, token=token)
                else:
                    token = read_token(body)
                    alarms.append(TimerState(due_ms=int(at_ms), leased=taken, token=token))
        alarms.sort(key=lambda timer: (timer.due_ms, timer.token.token_id))
        return alarms, leases, parked


def _scope(name: str, answers: list[Any]) -> ScopeState:
    live, closed, owner, left, record, dead, merge, fate, arrival = answers
    return ScopeState(
        name=name,
        live=1 if live is None else int(live),
        closed=bool(closed),
        claimed=_names(owner),
        left=_names(left),
        recorded=_names(record),
        dead=_names(dead),
        merged=_names(merge),
        fates={step.decode(): _fate(value) for step, value in fate.items()},
        arrivals=tuple(_arrival(field, value) for field, value in sorted(arrival.items())),
    )


def _names(fields: list[bytes]) -> frozenset[str]:
    return frozenset(field.decode() for field in fields)


def _fate(value: bytes) -> tuple[str, int]:
    tag, _, children = value.decode().rpartition(SEPARATOR)
    return tag, int(children)


def _arrival(field: bytes, value: bytes) -> Arrival:
    node, _, edge = field.decode().partition(SEPARATOR)
    unit, _, _ = value.partition(SEPARATOR.encode())
    return Arrival(node, edge, unit.decode())


def _pages(names: list[str]) -> list[list[str]]:
    return [names[start : start + NAMES_PAGE] for start in range(0, len(names), NAMES_PAGE)]


_conforms: type[Inspector] = RedisInspector
