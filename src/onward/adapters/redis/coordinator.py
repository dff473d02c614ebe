"""Coordination in Redis: one script for each operation of `kernel/coordination.py`.

The scripts say the same as the pure state machine; a differential test holds them equal. Nothing
of user data is ever decoded here or in Lua. Every key of a run shares one hash tag, lives without
an expiry while the run does, and is gone when it ends; only a tombstone stays for a day, so that a
late message cannot start the run anew.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from redis.asyncio import Redis

from onward.adapters.redis.keys import SCOPE_KINDS, Keys
from onward.adapters.redis.script_caller import ScriptCaller
from onward.kernel.coordination import SUPERSEDER
from onward.kernel.effects import (
    Abort,
    Aborted,
    Adjust,
    Arrive,
    Asks,
    Await,
    Begin,
    Close,
    Closed,
    Deliver,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Fill,
    Forget,
    Late,
    Leave,
    Open,
    Opened,
    Overdue,
    Pause,
    Pending,
    Record,
    Resolve,
    Restore,
    Scatter,
    Skip,
    Slot,
    SlotFilled,
    Stands,
    Supersede,
    Superseded,
    Taken,
    TryOpen,
    Values,
)
from onward.kernel.lineage import item_scope
from onward.kernel.messages import CompletionMessage, Token, encode_message
from onward.kernel.verdicts import Drop, Execute, Finish, Park, Verdict
from onward.ports.cluster.coordinator import Coordinator

TOMBSTONE_S = 86_400
SEPARATOR = "\x1f"
FIRST_SLOTS_PAGE, SLOTS_PAGE, SLOTS_PAGE_BYTES = 50, 1_000, 1_048_576
"""A page of slots: at first a few, then as many as make about so many bytes."""
KEYS_PAGE = 1_000
"""Keys that one command deletes."""

_MORE = 2
"""The answer of `forget.lua` that leaves the rest to its caller."""

_completions = msgspec.json.Decoder(CompletionMessage)


class RedisCoordinator:
    """The coordinator of any number of runs."""

    def __init__(self, redis: Redis, *, worker: str = "") -> None:
        """Coordinate for `worker`: a claim notes that it holds the token (`holders.py`)."""
        self._redis = redis
        self._caller = ScriptCaller(redis)
        self._worker = worker

    async def claim(self, token: Token) -> Verdict:
        """Say whether the bearer of `token` may execute it."""
        keys, scope = Keys(token.state_id), token.scope
        names = [keys.done, *keys.of(scope, "fate", "live", "owner", "record"), keys.groups]
        about = (token.token_id, token.publish_id, token.parent, token.outcome, token.siblings)
        answer = await self._caller.call(
            "claim",
            [*names, keys.holders, *keys.closure(token.lineage_stack)],
            [*about, scope, self._worker, *(frame.item_index for frame in token.lineage_stack)],
        )
        match answer:
            case [b"drop", why]:
                return Drop(why.decode())
            case [b"finish", depth]:
                return Finish(int(depth))
            case [b"park"]:
                return Park()
            case [b"run", recorded]:
                return Execute(recorded)
            case _:
                return Execute()

    async def answer(self, state_id: str, effect: Asks[Any]) -> Any:  # noqa: PLR0912
        """Answer a question of the kernel."""
        keys = Keys(state_id)
        match effect:
            case Record():
                return await self._record(keys, effect)
            case Scatter():
                return await self._scatter(keys, effect)
            case Leave():
                return await self._leave(keys, effect)
            case Abort():
                return await self._abort(keys, effect)
            case Fill():
                return await self._fill(keys, effect)
            case Values():
                return await self._values(keys, effect)
            case Overdue():
                names = [keys.done, *keys.of(effect.split, "head", "origin")]
                return await self._caller.call("overdue", names, [effect.by])
            case DiscardSplit():
                names = [keys.done, *keys.of(effect.split, "head", "slot", "results", "origin")]
                await self._caller.call("discard_split", names, [])
                return None
            case Arrive() | TryOpen() | ExpireMerge():
                return await self._merge(keys, effect)
            case Skip():
                names = [keys.done, *keys.of(effect.scope, "dead"), keys.groups]
                dead = await self._caller.call("skip", names, [effect.scope, *effect.edges])
                return effect.edges if dead is None else frozenset(edge.decode() for edge in dead)
            case DiscardMerge():
                names = [keys.done, *keys.of(effect.scope, "merge", "arrival")]
                arguments = [effect.node, *effect.expected]
                await self._caller.call("discard_merge", names, arguments)
                return None
            case Await() | Deliver() | Resolve():
                return await self._signal(keys, effect)
            case Close():
                return await self._close(keys, effect)
            case Forget():
                return await self._forget(keys)
            case Begin():
                await self._caller.call("begin", [keys.done], [])
                return None
            case Restore():
                names = [keys.done, *keys.of(effect.scope, "record"), keys.groups]
                known = [effect.token_id, effect.outcome, effect.scope]
                await self._caller.call("restore", names, known)
                return None
            case Supersede():
                return await self._supersede(keys)
            case Pause():
                return bool(await self._caller.call("pause", [keys.done], [int(effect.on)]))
            case Adjust():
                names = [keys.done, *keys.of(effect.split, "head")]
                numbers = [effect.window, "" if effect.budget is None else effect.budget]
                return bool(await self._caller.call("adjust", names, numbers))
            case _:
                raise NotImplementedError(type(effect).__name__)

    async def _record(self, keys: Keys, ask: Record) -> Stands | Superseded:
        names = [keys.done, *keys.of(ask.scope, "record", "fate", "live"), keys.groups]
        arguments = [ask.token_id, ask.tag, ask.siblings, ask.outcome, ask.scope]
        outcome = await self._caller.call("record", names, arguments)
        return Superseded() if outcome is None else Stands(outcome)

    async def _scatter(self, keys: Keys, ask: Scatter) -> bool:
        names = [keys.done, *keys.of(ask.split, "head", "origin"), *keys.of(ask.scope, "split")]
        budget = "" if ask.budget is None else ask.budget
        arguments = [ask.split, ask.total, ask.window, budget, ask.origin, ask.scope]
        arguments += [frame.item_index for frame in ask.lineage]
        names += [keys.groups, *keys.closure(ask.lineage)]
        return bool(await self._caller.call("scatter", names, arguments))

    async def _leave(self, keys: Keys, ask: Leave) -> Open | Closed | Aborted | SlotFilled:
        left, *_ = keys.of(ask.scope, "left")
        names = [keys.done, *keys.of(ask.scope, "closed", "left", "fate", "live"), keys.groups]
        arguments: list[Any] = [ask.by, ask.unit or "", ask.value, ask.scope]
        if ask.lineage:
            top = ask.lineage[-1]
            names += keys.of(top.split_token, "slot", "head")
            arguments.append(top.item_index)
        match await self._caller.call("leave", names, arguments):
            case [b"closed"]:
                # Once closed no unit may leave any more: the values can be read afterwards.
                values: Any = await self._redis.hgetall(left)
                return Closed({unit.decode(): value for unit, value in values.items()})
            case [b"aborted", error]:
                return Aborted(error)
            case [b"filed"]:
                return SlotFilled()
            case _:
                return Open()

    async def _abort(self, keys: Keys, ask: Abort) -> bool:
        top = ask.lineage[-1]
        names = [keys.done, *keys.of(ask.scope, "closed", "fate")]
        names += [*keys.of(top.split_token, "slot", "head"), keys.groups]
        arguments = [ask.by, ask.unit, ask.error, top.item_index, ask.scope]
        return bool(await self._caller.call("abort", names, arguments))

    async def _fill(self, keys: Keys, ask: Fill) -> Slot | None:
        scope = item_scope(ask.split, ask.index)
        names = [keys.done, *keys.of(ask.split, "head", "slot", "results", "origin"), keys.groups]
        names += keys.of(scope, "split", *SCOPE_KINDS)
        arguments = [ask.by, ask.index, ask.value, int(ask.failed), scope, keys.prefix]
        answer = await self._caller.call("aggregate", names, arguments)
        if answer is None:
            return None
        verdict, start, count, filled, failed, total, origin = answer
        return Slot(
            verdict=verdict.decode(),
            start=int(start),
            count=int(count),
            filled=int(filled),
            failed=int(failed),
            total=int(total),
            origin=origin,
        )

    async def _values(self, keys: Keys, ask: Values) -> list[bytes] | None:
        """Read the slots in pages: one giant reply would block the server."""
        head, results = keys.of(ask.split, "head", "results")
        total, discarded, verdict = await self._redis.hmget(head, "total", "discarded", "verdict")
        if total is None or discarded is not None or verdict != b"opened":
            return None
        values: list[bytes] = []
        count = FIRST_SLOTS_PAGE
        while len(values) < int(total):
            last = min(len(values) + count, int(total))
            fields = [str(index) for index in range(len(values), last)]
            page: Any = await self._redis.hmget(results, fields)
            if None in page:
                # Discarded while we read: another worker on the same message is done with it.
                return None
            values += page
            size = sum(map(len, page)) // len(page)
            count = max(1, min(SLOTS_PAGE, SLOTS_PAGE_BYTES // max(1, size)))
        return values

    async def _merge(
        self, keys: Keys, ask: Arrive | TryOpen | ExpireMerge
    ) -> Pending | Late | Opened | None:
        names = [keys.done, *keys.of(ask.scope, "arrival", "merge", "dead", "live"), keys.groups]
        match ask:
            case Arrive():
                mode, rest = "arrive", [ask.edge, ask.unit, ask.payload]
            case TryOpen():
                mode, rest = "try", ["", "", ""]
            case ExpireMerge():
                mode, rest = "expire", ["", "", ""]
            case _:
                assert_never(ask)
        quota = getattr(ask, "quota", None)
        arguments = [mode, ask.node, ask.by, "" if quota is None else quota, *rest]
        answer = await self._caller.call(
            "merge_wait_for_all", names, [*arguments, ask.scope, *ask.expected]
        )
        match answer:
            case [b"opened", *pairs]:
                edges = (edge.decode() for edge in pairs[::2])
                return Opened(dict(zip(edges, pairs[1::2], strict=True)))
            case [b"pending", arrived]:
                return Pending(int(arrived))
            case [b"late"]:
                return Late()
            case _:
                return None

    async def _signal(self, keys: Keys, ask: Await | Deliver | Resolve) -> Taken | str | None:
        names = [keys.done, *keys.of("", "signal", "waiter", "heard")]
        match ask:
            case Await():
                names += [*keys.of(ask.scope, "taken"), keys.groups, *keys.closure(ask.lineage)]
                indexes = [frame.item_index for frame in ask.lineage]
                path = SEPARATOR.join(
                    f"{frame.split_token}{SEPARATOR}{frame.item_index}" for frame in ask.lineage
                )
                arguments: list[Any] = [ask.by, ask.address, ask.scope, path, *indexes]
                answer = await self._caller.call("await", names, arguments)
            case Deliver():
                names += [keys.groups, *keys.of("", "closed")]
                arguments = [ask.by, ask.address, ask.content, keys.prefix]
                unit = await self._caller.call("deliver", names, arguments)
                return unit.decode() if unit else None
            case Resolve():
                names += [*keys.of(ask.scope, "taken"), keys.groups]
                arguments = [ask.by, ask.address, ask.unit, ask.scope]
                answer = await self._caller.call("resolve", names, arguments)
            case _:
                assert_never(ask)
        return None if answer is None else Taken(answer[0].decode(), answer[1])

    async def _close(self, keys: Keys, ask: Close) -> CompletionMessage | None:
        names = [keys.done, *keys.of("", "fate")]
        body = encode_message(ask.message) if ask.message is not None else b""
        standing = await self._caller.call("close", names, [ask.by, ask.unit, body])
        return None if standing is None else _completions.decode(standing)

    async def _supersede(self, keys: Keys) -> CompletionMessage | None:
        standing = await self._caller.call("supersede", [keys.done], [SUPERSEDER])
        if standing is not None:
            return _completions.decode(standing)
        await self._forget(keys)
        return None

    async def _forget(self, keys: Keys) -> None:
        """Drop everything but the tombstone.

        First all writes are refused; last the completion goes. If a worker dies in between, its
        message is delivered again, still finds the completion to be its own, and repeats this.
        """
        names = [keys.done, keys.groups, keys.holders, *keys.whole("")]
        if await self._caller.call("forget", names, [TOMBSTONE_S]) != _MORE:
            return
        names = keys.whole("")
        async for group in self._redis.sscan_iter(keys.groups, count=KEYS_PAGE):
            names += keys.whole(group.decode())
            if len(names) >= KEYS_PAGE:
                await self._redis.unlink(*names)
                names = []
        if names:
            await self._redis.unlink(*names)
        async with self._redis.pipeline(transaction=True) as ending:
            ending.unlink(keys.groups, keys.holders)
            ending.hdel(keys.done, "completion", "forgetting", "paused")
            ending.expire(keys.done, TOMBSTONE_S)
            await ending.execute()


_conforms: type[Coordinator] = RedisCoordinator
