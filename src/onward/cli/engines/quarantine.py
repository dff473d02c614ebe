"""Where `onward quarantine` finds its messages: a server, the services of a cluster, or a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from onward.cli.engines.cluster import ClusterAddress, ask_anywhere
from onward.cli.engines.engine import EngineAddress

if TYPE_CHECKING:
    from onward.bootstrap.cluster import Cluster
    from onward.client import AsyncEngine
    from onward.runtime.cluster.quarantine import NumberedMessage

Facts = dict[str, Any]
Quarantine: TypeAlias = "EngineQuarantine | ClusterQuarantine"
"""Messages by number. Both list, read, release and discard them; None is every message."""


def ask_quarantine(
    place: EngineAddress | ClusterAddress, work: Callable[[Quarantine], Awaitable[int]]
) -> int:
    """Return the exit code of work with the quarantine of an engine or a cluster."""
    return ask_anywhere(
        place,
        engine=lambda client: work(EngineQuarantine(client)),
        cluster=lambda services: work(ClusterQuarantine(services)),
    )


class EngineQuarantine:
    """The quarantine of an engine, through its API."""

    def __init__(self, client: AsyncEngine) -> None:
        self._client = client

    async def messages(self) -> list[Facts]:
        """Return the messages, oldest first."""
        return [_renamed(message) for message in await self._client.listed("quarantine")]

    async def message(self, number: int) -> Facts:
        """Return one message with its content; OnwardError when there is none of that number."""
        message = _renamed(await self._client.quarantined(number))
        left_out = "message" if message["base64"] is not None else "base64"
        return {name: value for name, value in message.items() if name != left_out}

    async def release(self, numbers: Sequence[int] | None, *, force: bool) -> int:
        """Send messages once more, and return how many."""
        return len(await self._client.release_messages(numbers, force=force))

    async def discard(self, numbers: Sequence[int] | None) -> int:
        """Delete messages, and return how many."""
        return len(await self._client.discard_messages(numbers))


class ClusterQuarantine:
    """The quarantine of a cluster, at its queues."""

    def __init__(self, services: Cluster) -> None:
        self._services = services

    async def messages(self) -> list[Facts]:
        """Return the messages, oldest first."""
        async with self._services.quarantine() as review:
            return [_facts(message) for message in await review.list_all()]

    async def message(self, number: int) -> Facts:
        """Return one message with its content; OnwardError when there is none of that number."""
        from onward.runtime.cluster.quarantine import content_of

        async with self._services.quarantine() as review:
            message = await review.find(number)
        return {**_facts(message), **content_of(message.body)}

    async def release(self, numbers: Sequence[int] | None, *, force: bool) -> int:
        """Send messages once more, and return how many."""
        async with self._services.quarantine() as review:
            return len(await review.release(numbers, force=force))

    async def discard(self, numbers: Sequence[int] | None) -> int:
        """Delete messages, and return how many."""
        async with self._services.quarantine() as review:
            return len(await review.discard(numbers))


def _renamed(message: Facts) -> Facts:
    return {**message, "node": message.pop("node_id")}


def _facts(message: NumberedMessage) -> Facts:
    return {
        "number": message.number,
        "at": message.at,
        "execution_id": message.execution_id,
        "node": message.node,
        "reason": message.reason,
        "bytes": len(message.body),
    }
