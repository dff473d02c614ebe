"""A message that a worker holds: unacknowledged at first, on a lease when its node takes long.

A broker takes back what is not acknowledged for long (RabbitMQ: after 30 minutes, and it closes the
channel). So the message of a node that runs longer than `early_ack_s` is stored as a durable timer
that sends the same message again, and is then acknowledged. While the node runs, that lease is
renewed. If the worker dies, the timer fires and another worker executes the node again, with the
same idempotency key. A worker whose lease is gone stops the node and writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from onward.kernel.messages import Token
from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus, Delivery
from onward.ports.cluster.workers import Leases
from onward.ports.nodes.outside import Log
from onward.runtime.queues import level_of, queue_of

EARLY_ACK_S = 60.0
LEASE_S = 60.0


@dataclass(frozen=True, slots=True)
class HoldSettings:
    """How a worker holds messages, and the services it needs for that."""

    worker: str
    bus: Bus
    leases: Leases
    clock: Clock
    chance: Chance
    log: Log
    early_ack_s: float = EARLY_ACK_S
    lease_s: float = LEASE_S


class MessageHold:
    """One delivery, until it is settled or left to another worker."""

    __slots__ = ("_delivery", "_lease", "_settings")

    def __init__(self, settings: HoldSettings, delivery: Delivery) -> None:
        self._settings = settings
        self._delivery = delivery
        self._lease: _Lease | None = None

    @property
    def on_lease(self) -> bool:
        """Whether the message is held by a lease, or about to be."""
        return self._lease is not None

    @property
    def lease_lost(self) -> bool:
        """Whether the lease is gone: another worker may run the node: write nothing."""
        return self._lease is not None and self._lease.lost

    @property
    def body(self) -> bytes:
        """The message as it came."""
        return self._delivery.body

    async def is_leased(self, token: Token) -> bool:
        """Return whether a redelivered message is on a lease: then it is not ours to handle.

        Its worker lost the connection, or died, between taking the lease and acknowledging. Either
        it is alive and still running the node, or its lease expires and the message comes again.
        """
        if not self._delivery.redelivered:
            return False
        return await self._settings.leases.is_held(token.state_id, token.token_id)

    @contextmanager
    def working(self, token: Token) -> Iterator[None]:
        """Let the current task run a node, which may become long, and then may be stopped."""
        task = asyncio.current_task()

        def take_lease() -> None:
            self._lease = _Lease(self._settings, self._delivery, token, task)

        timer = asyncio.get_running_loop().call_later(self._settings.early_ack_s, take_lease)
        try:
            yield
        finally:
            timer.cancel()
            if self._lease is not None:
                self._lease.node_ended()

    async def acknowledge(self) -> None:
        """Acknowledge the message: everything that follows from it is confirmed."""
        if self._lease is not None:
            await self._lease.stop_renewing()
        await self._delivery.ack()
        if self._lease is not None:
            await self._lease.end()

    async def hand_back(self) -> None:
        """Return the message, so that another worker can have it at once."""
        if self._lease is None or not await self._lease.stop_renewing():
            await self._delivery.give_back()
        elif not self._lease.lost:
            await self._lease.send()

    async def leave(self) -> None:
        """Return the message to the broker, or let its lease expire: either delivers it again."""
        if self._lease is None or not await self._lease.stop_renewing():
            await self._delivery.give_back()


class _Lease:
    """The lease on the message of one node. It is taken, and renewed, from its construction on."""

    def __init__(
        self,
        settings: HoldSettings,
        delivery: Delivery,
        token: Token,
        task: asyncio.Task[Any] | None,
    ) -> None:
        self.lost = False
        self._settings = settings
        self._delivery = delivery
        self._token = token
        self._task = task
        # Not the worker alone: it may get the same message again when a lease has expired.
        self._owner = f"{settings.worker}/{settings.chance.publish_id()}"
        self._taken = False
        self._stopped = asyncio.Event()
        self._renewal = asyncio.create_task(self._renew())

    def node_ended(self) -> None:
        """Note that the node has an outcome: from now on a lost lease stops nothing.

        What follows from a node is harmless when another worker does it too.
        """
        self._task = None

    async def stop_renewing(self) -> bool:
        """Stop renewing, and return whether the lease was taken and the message acknowledged."""
        self._stopped.set()
        # Not cancelled: a command that is interrupted half-way may lose its connection.
        await asyncio.wait([self._renewal])
        return self._taken

    async def send(self) -> None:
        """Publish the message again, and only then end the lease."""
        token, body = self._token, self._delivery.body
        try:
            await self._settings.bus.publish(queue_of(token), body, priority=level_of(token))
        except Exception as problem:
            self._warn(f"a message could not be returned: {problem}; its lease will expire")
        else:
            await self.end()

    async def end(self) -> None:
        """End the lease."""
        token = self._token
        try:
            await self._settings.leases.end(token.state_id, token.token_id, owner=self._owner)
        except Exception as problem:
            # It expires, and the worker that then gets the message finds that it is settled.
            self._warn(f"a lease could not be ended: {problem}")

    async def _renew(self) -> None:
        """Take the lease, acknowledge, and renew the lease until it is stopped."""
        settings = self._settings
        while not self._stopped.is_set():
            now_ms = settings.clock.now_ms()
            try:
                if not await self._extend(now_ms + round(settings.lease_s * 1000)):
                    self._lose()
                    return
            except Exception as problem:
                # While Redis is away no other worker can take it either.
                self._warn(f"the lease of a long node could not be renewed: {problem}")
            await settings.clock.wait(self._stopped, now_ms + round(settings.lease_s * 1000 / 3))

    async def _extend(self, until_ms: int) -> bool:
        leases, state_id = self._settings.leases, self._token.state_id
        token_id, body = self._token.token_id, self._delivery.body
        if self._taken:
            return await leases.extend(state_id, token_id, owner=self._owner, until_ms=until_ms)
        await leases.take(state_id, token_id, owner=self._owner, until_ms=until_ms, body=body)
        self._taken = True
        await self._delivery.ack()
        return True

    def _lose(self) -> None:
        self.lost = True
        if self._task is not None:
            self._warn("a node is stopped: its lease is gone, so another worker may run it")
            self._task.cancel()

    def _warn(self, message: str) -> None:
        token = self._token
        self._settings.log.write(
            "warning", message, run=token.execution_id, node=token.current_node
        )
