"""A message in a worker's hands: unacknowledged at first, on a lease when its node takes long.

A broker takes back what is not acknowledged for long (RabbitMQ: after 30 minutes, and it closes the
channel). So the message of a node that runs longer than `early_ack_s` is kept as a durable timer
that sends the same message again, and is then acknowledged. While the node runs, the end of that
lease is moved on. If the worker dies, the timer fires and another worker executes the node again,
with the same idempotency key. A worker that finds its lease gone stops the node and writes nothing.
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
    """How a worker holds messages, and what it stands on for that."""

    worker: str
    bus: Bus
    leases: Leases
    clock: Clock
    chance: Chance
    log: Log
    early_ack_s: float = EARLY_ACK_S
    lease_s: float = LEASE_S


class MessageHold:
    """One delivery, from when it comes until it is settled or somebody else's."""

    __slots__ = ("_delivery", "_lease", "_terms")

    def __init__(self, terms: HoldSettings, delivery: Delivery) -> None:
        self._terms = terms
        self._delivery = delivery
        self._lease: _Lease | None = None

    @property
    def long(self) -> bool:
        """Whether the message is held by a lease, or about to be."""
        return self._lease is not None

    @property
    def lost(self) -> bool:
        """Whether the lease is gone: another may be at work, and this worker must write nothing."""
        return self._lease is not None and self._lease.lost

    @property
    def body(self) -> bytes:
        """The message as it came."""
        return self._delivery.body

    async def elsewhere(self, token: Token) -> bool:
        """Return whether a message that came again is on a lease: then it is not ours to handle.

        Its worker lost the connection, or died, between taking the lease and acknowledging. Either
        it is alive and works on, or its lease runs out and the message comes once more.
        """
        if not self._delivery.redelivered:
            return False
        return await self._terms.leases.held(token.state_id, token.token_id)

    @contextmanager
    def working(self, token: Token) -> Iterator[None]:
        """Let the current task run a node: from now on it may become long, and may be stopped."""
        task = asyncio.current_task()

        def lengthen() -> None:
            self._lease = _Lease(self._terms, self._delivery, token, task)

        alarm = asyncio.get_running_loop().call_later(self._terms.early_ack_s, lengthen)
        try:
            yield
        finally:
            alarm.cancel()
            if self._lease is not None:
                self._lease.node_ended()

    async def settled(self) -> None:
        """Everything that follows from the message is confirmed: it is done with."""
        if self._lease is not None:
            await self._lease.rest()
        await self._delivery.ack()
        if self._lease is not None:
            await self._lease.end()

    async def hand_back(self) -> None:
        """Let others have the message, now."""
        if self._lease is None or not await self._lease.rest():
            await self._delivery.give_back()
        elif not self._lease.lost:
            await self._lease.send()

    async def leave(self) -> None:
        """Let the message come again when it does: from the broker, or when its lease runs out."""
        if self._lease is None or not await self._lease.rest():
            await self._delivery.give_back()


class _Lease:
    """The lease on the message of one node. It is taken, and renewed, from when this is made."""

    def __init__(
        self, terms: HoldSettings, delivery: Delivery, token: Token, task: asyncio.Task[Any] | None
    ) -> None:
        self.lost = False
        self._terms = terms
        self._delivery = delivery
        self._token = token
        self._task = task
        # Not the worker alone: it may get the same message once more when a lease has run out.
        self._owner = f"{terms.worker}/{terms.chance.publish_id()}"
        self._kept = False
        self._over = asyncio.Event()
        self._keeping = asyncio.create_task(self._keep())

    def node_ended(self) -> None:
        """The node came to something: from now on a lost lease stops nothing any more.

        What follows from a node is harmless when another worker does it too.
        """
        self._task = None

    async def rest(self) -> bool:
        """Renew no more, and return whether the lease was taken and the message acknowledged."""
        self._over.set()
        # Not cancelled: a command that is cut off half-way may lose its connection.
        await asyncio.wait([self._keeping])
        return self._kept

    async def send(self) -> None:
        """Publish the message again, and only then give up the lease."""
        token, body = self._token, self._delivery.body
        try:
            await self._terms.bus.publish(queue_of(token), body, priority=level_of(token))
        except Exception as problem:
            self._warn(f"a message could not be handed back: {problem}; its lease will run out")
        else:
            await self.end()

    async def end(self) -> None:
        """Give up the lease."""
        token = self._token
        try:
            await self._terms.leases.end(token.state_id, token.token_id, owner=self._owner)
        except Exception as problem:
            # It runs out, and whoever then gets the message finds that it is settled.
            self._warn(f"a lease could not be given up: {problem}")

    async def _keep(self) -> None:
        """Take the lease, acknowledge, and move the end of the lease on until all is over."""
        terms = self._terms
        while not self._over.is_set():
            now_ms = terms.clock.now_ms()
            try:
                if not await self._renewed(now_ms + round(terms.lease_s * 1000)):
                    self._stop()
                    return
            except Exception as problem:
                # While Redis is away nobody else can take it either.
                self._warn(f"the lease of a long node could not be renewed: {problem}")
            await terms.clock.wait(self._over, now_ms + round(terms.lease_s * 1000 / 3))

    async def _renewed(self, until_ms: int) -> bool:
        leases, run, token_id = self._terms.leases, self._token.state_id, self._token.token_id
        if self._kept:
            return await leases.extend(run, token_id, owner=self._owner, until_ms=until_ms)
        body = self._delivery.body
        await leases.take(run, token_id, owner=self._owner, until_ms=until_ms, body=body)
        self._kept = True
        await self._delivery.ack()
        return True

    def _stop(self) -> None:
        self.lost = True
        if self._task is not None:
            self._warn("a node is stopped: its lease is gone, so another worker may run it")
            self._task.cancel()

    def _warn(self, message: str) -> None:
        token = self._token
        self._terms.log.write("warning", message, run=token.execution_id, node=token.current_node)
