"""Lua scripts by name, and a caller that sends concurrent calls in one round trip.

Concurrent callers each await their own answer; all calls within one turn of the event loop travel
as one pipeline. A server that has lost a script (restart, fail-over, SCRIPT FLUSH) gets it again
and the call is repeated: scripts answer the same however often they are called.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import cache
from hashlib import sha1
from importlib import resources
from typing import Any, NamedTuple

from hiredis import pack_command
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

MOST_CALLS = 500
"""At most this many calls share a round trip."""
MOMENT_S = 0.001
"""How long a round trip waits under load for more to share it."""


class Script(NamedTuple):
    """A script and the name the server knows it by."""

    name: str
    source: str
    sha: str


@cache
def script(name: str) -> Script:
    """Return the script in `scripts/<name>.lua`, with what all of them share in front."""
    folder = resources.files("onward.adapters.redis").joinpath("scripts")
    source = folder.joinpath("common.lua").read_text() + folder.joinpath(f"{name}.lua").read_text()
    return Script(name, source, sha1(source.encode(), usedforsecurity=False).hexdigest())


class _Call(NamedTuple):
    words: tuple[Any, ...]
    script: Script | None
    answer: asyncio.Future[Any]


class ScriptCaller:
    """Calls scripts and plain commands, many at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[_Call] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._busy = False

    async def call(self, name: str, keys: list[str], arguments: list[Any]) -> Any:
        """Return the script's answer; RedisError when the server cannot give one."""
        asked = script(name)
        return await self._ask(("EVALSHA", asked.sha, len(keys), *keys, *arguments), asked)

    def command(self, *words: Any) -> asyncio.Future[Any]:
        """Send a command that may be sent twice; the future is its answer, as the server puts it.

        Its failure is raised where it is awaited, and nowhere if it is not.
        """
        answer = self._ask(words, None)
        answer.add_done_callback(_retrieve)
        return answer

    def _ask(self, words: tuple[Any, ...], asked: Script | None) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(words, asked, answer))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        return answer

    async def _send(self) -> None:
        while self._waiting:
            # Let every caller that is about to call do so; where several call at once, more will.
            await asyncio.sleep(MOMENT_S if self._busy else 0)
            batch = [self._waiting.popleft() for _ in range(min(MOST_CALLS, len(self._waiting)))]
            self._busy = len(batch) > 1
            try:
                await self._answer(batch)
            except (RedisError, OSError) as problem:
                for call in batch:
                    if not call.answer.done():
                        call.answer.set_exception(problem)

    async def _answer(self, batch: list[_Call]) -> None:
        answers = await self._pipeline(batch)
        again = [
            call
            for call, answer in zip(batch, answers, strict=True)
            if isinstance(answer, NoScriptError)
        ]
        if again:
            for missing in {call.script for call in again}:
                if missing is not None:
                    await self._redis.script_load(missing.source)
            redone = dict(zip(map(id, again), await self._pipeline(again), strict=True))
            answers = [
                redone.get(id(call), answer) for call, answer in zip(batch, answers, strict=True)
            ]
        for call, answer in zip(batch, answers, strict=True):
            if call.answer.done():
                continue  # the caller was cancelled
            if isinstance(answer, Exception):
                call.answer.set_exception(answer)
            else:
                call.answer.set_result(answer)

    async def _pipeline(self, batch: list[_Call]) -> list[Any]:
        """Send a batch in one write, on one connection.

        The client's own pipeline costs several times what the server does: this is the hot path.
        """
        packed = b"".join(pack_command(call.words) for call in batch)
        pool: Any = self._redis.connection_pool
        connection = await pool.get_connection()
        try:
            answers: list[Any] = await connection.retry.call_with_retry(
                lambda: _exchange(connection, packed, len(batch)),
                lambda problem: connection.disconnect(error=problem),
            )
        except BaseException:
            # Cancelled half-way or failed: answers may still come that no caller waits for.
            await connection.disconnect(nowait=True)
            raise
        finally:
            await pool.release(connection)
        return answers


async def _exchange(connection: AbstractConnection, packed: bytes, count: int) -> list[Any]:
    await connection.send_packed_command(packed)
    answers: list[Any] = []
    for _ in range(count):
        try:
            answers.append(await connection.read_response())
        except ResponseError as refused:
            answers.append(refused)
    return answers


def _retrieve(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled():
        answer.exception()
