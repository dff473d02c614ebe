"""Coordination on every kind of cells: in memory, and read back from SQLite after every step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from redis.asyncio import Redis

from onward.adapters.redis.coordinator import RedisCoordinator
from onward.adapters.sqlite.journal import SqliteJournal
from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.effects import Begin
from onward.kernel.messages import Token
from onward.kernel.verdicts import Verdict
from onward.ports.storage.journal import JournalCommit
from onward.runtime.embedded.active_run import JournaledCells

R = TypeVar("R")


class InMemory:
    """The state machine on plain dictionaries."""

    def __init__(self) -> None:
        self._cells = MemoryCells()
        self._coordination = Coordination(self._cells)
        self.answer(Begin())

    def claim(self, token: Token) -> Verdict:
        """Claim a token."""
        return self._coordination.claim(token)

    def answer(self, effect: Any) -> Any:
        """Answer a question."""
        return self._coordination.answer(effect)

    def dump(self) -> dict[tuple[str, str, str], Any]:
        """Return every cell."""
        return dumped(self._cells)


class EveryCell(JournaledCells):
    """Cells that forget nothing: each step here is a commit of its own."""

    def forgettable(self, kind: str, value: Any) -> bool:
        return False


class InSqlite:
    """The state machine as after a crash between any two steps: every answer is followed by a
    commit, and every question by a load."""

    def __init__(self, journal: SqliteJournal, execution_id: str) -> None:
        self._journal = journal
        self._execution_id = execution_id
        self.answer(Begin())

    def claim(self, token: Token) -> Verdict:
        """Claim a token."""
        return self._stepped(lambda coordination: coordination.claim(token))

    def answer(self, effect: Any) -> Any:
        """Answer a question."""
        return self._stepped(lambda coordination: coordination.answer(effect))

    def dump(self) -> dict[tuple[str, str, str], Any]:
        """Return every cell."""
        return dumped(EveryCell(self._journal.cells(self._execution_id)))

    def _stepped(self, step: Callable[[Coordination], R]) -> R:
        cells = EveryCell(self._journal.cells(self._execution_id))
        try:
            return step(Coordination(cells))
        finally:
            self._journal.commit(JournalCommit(cells={self._execution_id: cells.take()}))


class InRedis:
    """The same operations as scripts, on a real server; asked from outside the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, redis: Redis, execution_id: str) -> None:
        self._loop = loop
        self._coordinator = RedisCoordinator(redis)
        self._execution_id = execution_id
        self.answer(Begin())

    def claim(self, token: Token) -> Verdict:
        """Claim a token."""
        own = msgspec.structs.replace(token, execution_id=self._execution_id)
        return self._loop.run_until_complete(self._coordinator.claim(own))

    def answer(self, effect: Any) -> Any:
        """Answer a question."""
        return self._loop.run_until_complete(self._coordinator.answer(self._execution_id, effect))


def dumped(cells: MemoryCells) -> dict[tuple[str, str, str], Any]:
    """Return every cell, with tuples and lists made equal."""
    return {
        (group, kind, field): _listed(value)
        for group, kinds in cells._groups.items()
        for kind, fields in kinds.items()
        for field, value in fields.items()
    }


def _listed(value: Any) -> Any:
    return [*map(_listed, value)] if isinstance(value, tuple | list) else value
