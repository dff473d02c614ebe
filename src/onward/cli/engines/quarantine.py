"""Where `onward quarantine` finds its messages: a server, the services of a cluster, or a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from onward.cli.engines import cluster, server

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.client import AsyncEngine
    from onward.runtime.cluster.quarantine import NumberedMessage

Facts = dict[str, Any]


class QuarantineAccess(Protocol):
    """Decides about messages in quarantine."""

    async def everything(self) -> list[Facts]:
        """Return the messages, oldest first."""
        ...

    async def one(self, number: int) -> Facts:
        """Return a message with what it says; OnwardError when there is none of that number."""
        ...

    async def release(self, numbers: Sequence[int] | None, *, force: bool) -> int:
        """Send messages once more, and return how many."""
        ...

    async def discard(self, numbers: Sequence[int] | None) -> int:
        """Throw messages away, and return how many."""
        ...


def at_desk(
    work: Callable[[QuarantineAccess], Awaitable[int]],
    context: click.Context,
    given: dict[str, Any],
) -> int:
    """Return the exit code of what is done where the options say."""
    at = server.where(given)
    if at.server or not cluster.is_meant(context, given):

        async def ask(engine: AsyncEngine) -> int:
            return await work(_ApiDesk(engine))

        return server.talk(at, ask)
    from onward.cli.engines.cluster import ask_cluster

    async def ask_services(found: Cluster) -> int:
        return await work(_ClusterDesk(found))

    return ask_cluster(ask_services, **given)


class _ApiDesk:
    """A `Desk` behind the API."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._at = engine

    async def everything(self) -> list[Facts]:
        return [_renamed(one) for one in await self._at.listed("quarantine")]

    async def one(self, number: int) -> Facts:
        found = _renamed(await self._at.quarantined(number))
        left_out = "message" if found["base64"] is not None else "base64"
        return {name: value for name, value in found.items() if name != left_out}

    async def release(self, numbers: Sequence[int] | None, *, force: bool) -> int:
        return len(await self._at.release_messages(numbers, force=force))

    async def discard(self, numbers: Sequence[int] | None) -> int:
        return len(await self._at.discard_messages(numbers))


class _ClusterDesk:
    """A `Desk` at the queues themselves."""

    def __init__(self, at: Cluster) -> None:
        self._at = at

    async def everything(self) -> list[Facts]:
        async with self._at.quarantine() as desk:
            return [_facts(one) for one in await desk.list_all()]

    async def one(self, number: int) -> Facts:
        from onward.runtime.cluster.quarantine import content_of

        async with self._at.quarantine() as desk:
            found = await desk.find(number)
        return {**_facts(found), **content_of(found.body)}

    async def release(self, numbers: Sequence[int] | None, *, force: bool) -> int:
        async with self._at.quarantine() as desk:
            return len(await desk.release(_numbers(numbers), force=force))

    async def discard(self, numbers: Sequence[int] | None) -> int:
        async with self._at.quarantine() as desk:
            return len(await desk.discard(_numbers(numbers)))


def _numbers(numbers: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if numbers is None else tuple(numbers)


def _renamed(one: Facts) -> Facts:
    return {**one, "node": one.pop("node_id")}


def _facts(one: NumberedMessage) -> Facts:
    return {
        "number": one.number,
        "at": one.at,
        "execution_id": one.execution_id,
        "node": one.node,
        "reason": one.reason,
        "bytes": len(one.body),
    }
