"""Lua scripts by name, and a caller that sends what is asked at the same time in one round trip.

Concurrent callers each await their own answer; whatever they ask within one turn of the event loop
travels as one pipeline. A server that has forgotten a script (restart, fail-over, SCRIPT FLUSH)
gets it again and the question is asked once more: scripts answer the same however often asked.
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

PIPELINE = 500
"""At most this many questions share a round trip."""
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


class _Question(NamedTuple):
    words: tuple[Any, ...]
    script: Script | None
    answer: asyncio.Future[Any]


class ScriptCaller:
    """Asks scripts and plain commands, many at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[_Question] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._busy = False

    async def call(self, name: str, keys: list[str], arguments: list[Any]) -> Any:
        """Return the script's answer; RedisError when the server cannot give one."""
        asked = script(name)
        return await self._ask(("EVALSHA", asked.sha, len(keys), *keys, *arguments), asked)

    def command(self, *words: Any) -> asyncio.Future[Any]:
        """Send a command that may be sent twice; the future is its answer, as the server puts it.

        Its failure is raised to whoever waits for it, and to nobody if nobody does.
        """
        answer = self._ask(words, None)
        answer.add_done_callback(_noticed)
        return answer

    def _ask(self, words: tuple[Any, ...], asked: Script | None) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Question(words, asked, answer))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        return answer

    async def _send(self) -> None:
        while self._waiting:
            # Let everyone who is about to ask do so; where several ask at once, more will.
            await asyncio.sleep(MOMENT_S if self._busy else 0)
            batch = [self._waiting.popleft() for _ in range(min(PIPELINE, len(self._waiting)))]
            self._busy = len(batch) > 1
            try:
                await self._answer(batch)
            except (RedisError, OSError) as problem:
                for question in batch:
                    if not question.answer.done():
                        question.answer.set_exception(problem)

    async def _answer(self, batch: list[_Question]) -> None:
        answers = await self._pipeline(batch)
        again = [
            question
            for question, answer in zip(batch, answers, strict=True)
            if isinstance(answer, NoScriptError)
        ]
        if again:
            for one in {question.script for question in again}:
                if one is not None:
                    await self._redis.script_load(one.source)
            redone = dict(zip(map(id, again), await self._pipeline(again), strict=True))
            answers = [redone.get(id(q), a) for q, a in zip(batch, answers, strict=True)]
        for question, answer in zip(batch, answers, strict=True):
            if question.answer.done():
                continue  # the asker has given up
            if isinstance(answer, Exception):
                question.answer.set_exception(answer)
            else:
                question.answer.set_result(answer)

    async def _pipeline(self, batch: list[_Question]) -> list[Any]:
        """Ask all of a batch in one write, on one connection.

        The client's own pipeline costs several times what the server does: this is the hot path.
        """
        packed = b"".join(pack_command(one.words) for one in batch)
        pool: Any = self._redis.connection_pool
        connection = await pool.get_connection()
        try:
            answers: list[Any] = await connection.retry.call_with_retry(
                lambda: _exchange(connection, packed, len(batch)),
                lambda problem: connection.disconnect(error=problem),
            )
        except BaseException:
            # Cancelled half-way or given up: answers may still come that nobody asked for.
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


def _noticed(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled():
        answer.exception()
