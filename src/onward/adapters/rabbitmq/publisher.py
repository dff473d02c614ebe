"""Publishing with confirms: any number at once, each with its own time limit.

A message whose connection is lost before its confirm came is sent again, the same bytes: it may
then be in the queue twice, which is what at-least-once delivery means anyway.
"""

from __future__ import annotations

import asyncio
import re
from itertools import takewhile
from typing import NamedTuple

from onward.adapters.rabbitmq.amqp import NOT_ALLOWED, Channel, ChannelRefusedError, LostError
from onward.adapters.rabbitmq.reconnect import ReconnectingConnection
from onward.errors import MessageError
from onward.ports.cluster.bus import BusError

_PAUSE_S = 0.1
_TOO_LARGE = re.compile(r"larger than (?:configured )?max size (\d+)")


class _Sent(NamedTuple):
    """A pending message: its confirm, its queue, and when waiting for it ends."""

    confirmed: asyncio.Future[None]
    queue: str
    until: float


class Publisher:
    """One channel with confirms, opened anew whenever it is lost."""

    def __init__(self, link: ReconnectingConnection, *, timeout_s: float) -> None:
        self.max_message_bytes: int | None = None
        """The largest body that is sent; lowered when the broker turns out to take less."""
        self._link = link
        self._timeout_s = timeout_s
        self._channel: Channel | None = None
        self._ready = asyncio.Event()
        self._gone = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._calls = 0
        self._tag = 0
        self._pending: dict[int, _Sent] = {}
        self._expiry: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def start(self) -> None:
        """Start opening channels."""
        self._task = asyncio.create_task(self._keep_channel())

    async def publish(self, queue: str, body: bytes, priority: int) -> None:
        """Return when the broker has confirmed that `queue` holds the message."""
        if self._closed:
            raise BusError(f"cannot publish to {queue}: the bus is closed")
        until = asyncio.get_running_loop().time() + self._timeout_s
        self._calls += 1
        self._idle.clear()
        try:
            await self._deliver(queue, body, priority, until)
        finally:
            self._calls -= 1
            if self._calls == 0:
                self._idle.set()

    async def close(self) -> None:
        """Take no more messages and return when those pending are settled, or have failed."""
        self._closed = True
        await self._idle.wait()
        if self._expiry is not None:
            self._expiry.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _deliver(self, queue: str, body: bytes, priority: int, until: float) -> None:
        while True:
            self._check_size(queue, body)
            channel = self._channel
            if channel is None or not channel.is_open or self._link.blocked:
                await self._sendable(queue, until)
                continue
            try:
                return await self._send(channel, queue, body, priority, until)
            except LostError:
                continue

    async def _sendable(self, queue: str, until: float) -> None:
        """Return when it is worth trying to send again."""
        try:
            async with asyncio.timeout_at(until):
                if self._channel is not None and self._channel.is_open:
                    await self._link.unblocked()
                else:
                    self._ready.clear()
                    await self._ready.wait()
        except TimeoutError:
            raise BusError(self._late(queue)) from None

    def _send(
        self, channel: Channel, queue: str, body: bytes, priority: int, until: float
    ) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        confirmed: asyncio.Future[None] = loop.create_future()
        tag = self._tag + 1
        channel.publish(queue, body, f"{tag} {queue}", priority)
        self._tag = tag
        self._pending[tag] = _Sent(confirmed, queue, until)
        # One timer for all pending messages: a timer for each would cost more than sending it.
        if self._expiry is None or self._expiry.when() > until:
            if self._expiry is not None:
                self._expiry.cancel()
            self._expiry = loop.call_at(until, self._expire)
        return confirmed

    def _expire(self) -> None:
        """Fail the messages that are overdue, and set the timer for the next."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for tag, sent in tuple(self._pending.items()):
            if sent.confirmed.done():  # its caller was cancelled
                del self._pending[tag]
            elif sent.until <= now:
                del self._pending[tag]
                sent.confirmed.set_exception(BusError(self._late(sent.queue)))
        due = min((sent.until for sent in self._pending.values()), default=None)
        self._expiry = None if due is None else loop.call_at(due, self._expire)

    def _check_size(self, queue: str, body: bytes) -> None:
        limit = self.max_message_bytes
        if limit is not None and len(body) > limit:
            raise MessageError(
                f"a message for {queue} has {len(body):,} bytes, the broker takes {limit:,}: keep "
                "large values out of it (by reference), or raise max_message_size of the broker"
            )

    async def _keep_channel(self) -> None:
        while (connection := await self._link.connection()) is not None:
            try:
                channel = await connection.channel()
                self._gone.clear()
                channel.on_closed = self._on_closed
                await channel.confirm(self._on_settled, self._on_returned)
            except (LostError, ChannelRefusedError):
                await asyncio.sleep(_PAUSE_S)
                continue
            self._tag = 0
            self._channel = channel
            self._ready.set()
            await self._gone.wait()

    def _on_settled(self, tag: int, multiple: bool, taken: bool) -> None:
        if not multiple:
            self._settle(tag, taken)
            return
        # Tags are in the order of sending, and so is the dictionary.
        for earlier in list(takewhile(tag.__ge__, self._pending)):
            self._settle(earlier, taken)

    def _settle(self, tag: int, taken: bool) -> None:
        sent = self._pending.pop(tag, None)
        if sent is None or sent.confirmed.done():
            return
        if taken:
            sent.confirmed.set_result(None)
        else:
            sent.confirmed.set_exception(
                BusError("RabbitMQ refused a message: its queue is full or unavailable")
            )

    def _on_returned(self, correlation: str, why: str) -> None:
        tag, queue = correlation.split(" ", 1)
        sent = self._pending.pop(int(tag), None)
        if sent is not None and not sent.confirmed.done():
            sent.confirmed.set_exception(
                BusError(
                    f"RabbitMQ has no queue {queue} in virtual host "
                    f"{self._link.address.virtual_host} ({why}): declare the topology"
                )
            )

    def _on_closed(self, reason: Exception) -> None:
        self._channel = None
        failed: Exception = LostError(str(reason))
        if isinstance(reason, ChannelRefusedError):
            if too_large := _TOO_LARGE.search(reason.text):
                self.max_message_bytes = int(too_large[1])
            elif reason.code == NOT_ALLOWED:
                failed = BusError(f"RabbitMQ refused to publish: {reason.text}")
        pending, self._pending = self._pending, {}
        for sent in pending.values():
            if not sent.confirmed.done():
                sent.confirmed.set_exception(failed)
        self._gone.set()

    def _late(self, queue: str) -> str:
        head = f"RabbitMQ did not confirm a message for {queue} within {self._timeout_s:g} s"
        if self._link.blocked:
            return f"{head}: blocked by the broker: memory or disk alarm"
        if self._channel is None:
            return f"{head}: no connection: {self._link.trouble}"
        return f"{head}: the broker is overloaded or stuck"
