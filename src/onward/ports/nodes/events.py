"""The ports of events: publishing one, and the subscriptions of runs that listen to them.

An event is a CloudEvent in the shape of its JSON format. It is identified by `source` and `id`: one
that is published twice reaches every subscription once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from onward.ports.nodes.outside import OutsideError


class Subscription(msgspec.Struct, frozen=True):
    """A run listens to events of a type ("": of any) at one of its addresses.

    `token` is one that the run started with, as a message: signals are made of it.
    """

    execution_id: str
    address: str
    event_type: str
    token: bytes


class EventHub(Protocol):
    """Delivers events to the runs that listen to them, and to the sink if there is one."""

    async def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        """Deliver what is published from now on to a run. The same again changes nothing."""
        ...

    async def publish(self, event: Mapping[str, Any]) -> int:
        """Publish an event, and return the number of subscriptions; each of them will have it.

        Raises OutsideError when a receiver cannot be reached: then publish it again.
        """
        ...


class Listeners(Protocol):
    """Stores the subscriptions of runs, as long as they have not ended."""

    async def add(self, subscriptions: Sequence[Subscription]) -> None:
        """Store subscriptions; one of the same run, address and type is replaced."""
        ...

    def of(self, event_type: str) -> AsyncIterator[list[Subscription]]:
        """Iterate over pages of the subscriptions that events of a type are for."""
        ...


class _NoHub:
    async def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        raise OutsideError("events are not taken here", "EVENT_NO_HUB")

    async def publish(self, event: Mapping[str, Any]) -> int:
        raise OutsideError("events are not taken here", "EVENT_NO_HUB")


NO_HUB: EventHub = _NoHub()
"""Refuses everything."""
