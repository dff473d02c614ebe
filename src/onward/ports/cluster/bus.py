"""The message bus: publish with confirm, consume with acknowledgement.

Delivery is at least once. A message is acknowledged only after everything that follows from it is
confirmed, so a consumer that dies has its messages delivered again, to itself or to another.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from onward.errors import OnwardError, UnavailableError


class BusError(OnwardError):
    """The bus could not take a message, is not there, or cannot be used."""


class BusUnavailableError(BusError, UnavailableError):
    """The bus cannot be reached now."""


class Delivery(Protocol):
    """One message, delivered to one consumer."""

    @property
    def body(self) -> bytes:
        """The message itself."""
        ...

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        ...

    async def ack(self) -> None:
        """Acknowledge it. Without effect once the connection it came by is gone."""
        ...

    async def give_back(self) -> None:
        """Return it to its queue unhandled, for any consumer: what a worker that stops does."""
        ...


class Bus(Protocol):
    """A broker. Connections come and go behind it; callers only wait longer."""

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Return when the broker has confirmed that `queue` holds the message.

        Raises MessageError for a body larger than the broker takes (checked before sending), and
        BusError when no confirm came within the time limit, the queue does not exist, or the broker
        refused it. Many calls at once share the wire.
        """
        ...

    def consume(self, queue: str, *, prefetch: int) -> AsyncGenerator[Delivery]:
        """Iterate over deliveries, at most `prefetch` of them not yet acknowledged.

        Continues after the connection was lost and restored; ends when the bus is closed.
        """
        ...

    async def close(self) -> None:
        """Stop consuming, wait for outstanding confirms, and disconnect."""
        ...
