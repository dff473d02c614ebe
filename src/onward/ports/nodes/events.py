"""Where events are published, and where runs say which of them they listen to.

An event is a CloudEvent in the shape of its JSON format. It is told apart by `source` and `id`: one
that is published twice reaches every listen once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from onward.ports.nodes.outside import OutsideError


class Subscription(msgspec.Struct, frozen=True):
    """That a run listens to events of a type ("": of any) at one of its addresses.

    `token` is one that the run began with, as a message: signals are made of it.
    """

    execution_id: str
    address: str
    event_type: str
    token: bytes


class EventHub(Protocol):
    """Hands events to the runs that listen to them, and to whoever else is to know."""

    async def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        """Keep what is published from now on for a run. The same again changes nothing."""
        ...

    async def publish(self, event: Mapping[str, Any]) -> int:
        """Publish an event, and return how many listens it is for; each of them will have it.

        Raises OutsideError when somebody cannot be reached: then publish it again.
        """
        ...


class Listeners(Protocol):
    """Keeps which runs listen to what, as long as they have not ended."""

    async def add(self, subscriptions: Sequence[Subscription]) -> None:
        """Keep subscriptions; one of the same run, address and type is replaced."""
        ...

    def of(self, event_type: str) -> AsyncIterator[list[Subscription]]:
        """Iterate over pages of the subscriptions that events of a type are for."""
        ...


class _NoHub:
    async def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        raise OutsideError("there is nobody here who takes events", "EVENT_NO_HUB")

    async def publish(self, event: Mapping[str, Any]) -> int:
        raise OutsideError("there is nobody here who takes events", "EVENT_NO_HUB")


NO_HUB: EventHub = _NoHub()
"""Refuses everything."""
