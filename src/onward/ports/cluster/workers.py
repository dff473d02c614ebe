"""The workers there are, the tokens they hold, and leases on the messages of long nodes.

The message of a node that runs for long is acknowledged early and lives on as a *lease*: a durable
timer that sends the same message again unless its holder renews it. Everything else here are notes:
they show people where a run is, and the reconciler that it is alive; which worker may execute a
token is never decided by them.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class HeldToken(msgspec.Struct, frozen=True):
    """A token that a worker has claimed and not yet settled."""

    worker: str
    since_ms: int


class DeliveryFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A message that could not be handled for reasons outside its node, and will be retried."""

    node: str
    item: str
    """Where it is: `users[5] > orders[2]`, or "" outside all splits."""
    failures: int
    due_ms: int
    reason: str


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has announced itself."""

    name: str
    host: str
    pid: int
    version: str
    slots: int
    started_ms: int
    seen_ms: int
    """When it last announced itself."""


class Holdings(Protocol):
    """Notes about the tokens of runs. `Coordinator.claim` writes that a worker holds one."""

    def release(self, state_id: str, token_id: str) -> None:
        """Note, soon, that no worker holds a token any more. It never fails and is not awaited."""
        ...

    async def flush(self) -> None:
        """Return when every release has been noted, or could not be."""
        ...

    async def note_failure(self, state_id: str, token_id: str, failure: DeliveryFailure) -> None:
        """Note that a message will be retried. Without effect once the run is over."""
        ...


class Leases(Protocol):
    """Messages that are acknowledged and still held by a worker."""

    async def take(
        self, state_id: str, token_id: str, *, owner: str, until_ms: int, body: bytes
    ) -> None:
        """Store a message durably: it is sent at `until_ms` unless its owner prevents it.

        A lease of another owner on the same token is taken over.
        """
        ...

    async def extend(self, state_id: str, token_id: str, *, owner: str, until_ms: int) -> bool:
        """Renew a lease. False: it is not the owner's, so another worker may run the node."""
        ...

    async def is_held(self, state_id: str, token_id: str) -> bool:
        """Return whether a worker has a lease on a token that has not expired."""
        ...

    async def end(self, state_id: str, token_id: str, *, owner: str) -> None:
        """End a lease; one that is no longer the owner's is left alone."""
        ...


class WorkerRegistry(Protocol):
    """The workers there are."""

    async def announce(self, worker: WorkerInfo) -> None:
        """Note that a worker is running."""
        ...

    async def leave(self, name: str) -> None:
        """Note that a worker has stopped, and holds nothing."""
        ...

    async def workers(self) -> list[WorkerInfo]:
        """Return every worker that announced itself within a day and has not left, by name."""
        ...
