"""Who holds what: the workers there are, the messages in their hands, and leases on long ones.

A message that is worked on for long is acknowledged early and lives on as a *lease*: a durable
timer that sends the same message again unless its holder moves it on. Everything else here are
notes: they tell people where a run is and the reconciler that it is alive; who may execute what is
never decided by them.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class HeldToken(msgspec.Struct, frozen=True):
    """A token that a worker has claimed and not yet settled."""

    worker: str
    since_ms: int


class DeliveryFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be handled for reasons outside its node, and will come again."""

    node: str
    item: str
    """Where it is: `users[5] > orders[2]`, or "" outside all splits."""
    failures: int
    due_ms: int
    reason: str


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has been heard of."""

    name: str
    host: str
    pid: int
    version: str
    slots: int
    started_ms: int
    seen_ms: int
    """When it last said that it is there."""


class Holdings(Protocol):
    """Notes about the tokens of runs. `Coordinator.claim` writes that a worker holds one."""

    def release(self, run: str, token_id: str) -> None:
        """Note, soon, that nobody holds a token any more. It never fails and is not waited for."""
        ...

    async def flush(self) -> None:
        """Return when every release has been noted, or could not be."""
        ...

    async def trouble(self, run: str, token_id: str, trouble: DeliveryFailure) -> None:
        """Note that a message will come again. Without effect once the run is over."""
        ...


class Leases(Protocol):
    """Messages that are acknowledged and still in somebody's hands."""

    async def take(
        self, run: str, token_id: str, *, owner: str, until_ms: int, body: bytes
    ) -> None:
        """Keep a message durably: it is sent at `until_ms` unless its owner prevents it.

        A lease of another owner on the same token is taken over.
        """
        ...

    async def extend(self, run: str, token_id: str, *, owner: str, until_ms: int) -> bool:
        """Move the end of a lease. False: it is not the owner's, so another may be at work."""
        ...

    async def held(self, run: str, token_id: str) -> bool:
        """Return whether anybody has a lease on a token that has not run out."""
        ...

    async def end(self, run: str, token_id: str, *, owner: str) -> None:
        """Give up a lease; one that is no longer the owner's is left alone."""
        ...


class WorkerRegistry(Protocol):
    """The workers there are."""

    async def announce(self, presence: WorkerInfo) -> None:
        """Say that a worker is there."""
        ...

    async def leave(self, name: str) -> None:
        """Say that a worker has stopped, with nothing in its hands."""
        ...

    async def workers(self) -> list[WorkerInfo]:
        """Return every worker that has been heard of within a day and has not left, by name."""
        ...
