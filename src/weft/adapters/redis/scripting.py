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

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

PIPELINE = 500
"""At most this many questions share a round trip."""


class Script(NamedTuple):
    """A script and the name the server knows it by."""

    name: str
    source: str
    sha: str


@cache
def script(name: str) -> Script:
    """Return the script in `scripts/<name>.lua`, with what all of them share in front."""
    folder = resources.files("weft.adapters.redis").joinpath("scripts")
    source = folder.joinpath("common.lua").read_text() + folder.joinpath(f"{name}.lua").read_text()
    return Script(name, source, sha1(source.encode(), usedforsecurity=False).hexdigest())


class _Question(NamedTuple):
    script: Script
    keys: list[str]
    arguments: list[Any]
    answer: asyncio.Future[Any]


class Caller:
    """Asks scripts, many at a time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._waiting: deque[_Question] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def call(self, name: str, keys: list[str], arguments: list[Any]) -> Any:
        """Return the script's answer; RedisError when the server cannot give one."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Question(script(name), keys, arguments, answer))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        return await answer

    async def _send(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # let everyone who is about to ask do so
            batch = [self._waiting.popleft() for _ in range(min(PIPELINE, len(self._waiting)))]
            try:
                await self._ask(batch)
            except (RedisError, OSError) as problem:
                for question in batch:
                    if not question.answer.done():
                        question.answer.set_exception(problem)

    async def _ask(self, batch: list[_Question]) -> None:
        answers = await self._pipeline(batch)
        again = [
            question
            for question, answer in zip(batch, answers, strict=True)
            if isinstance(answer, NoScriptError)
        ]
        if again:
            for one in {question.script for question in again}:
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
        pipe = self._redis.pipeline(transaction=False)
        for one in batch:
            pipe.evalsha(one.script.sha, len(one.keys), *one.keys, *one.arguments)
        answers: list[Any] = await pipe.execute(raise_on_error=False)
        return answers
