"""pika's callbacks as coroutines: the only module that knows the client library.

A connection or a channel here was opened once and does not come back. What was pending when it
closed fails with LostError (the connection went) or ChannelRefusedError (the broker closed the
channel).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pika  # type: ignore[import-untyped]  # carries no py.typed
from pika.adapters.asyncio_connection import (  # type: ignore[import-untyped]  # as above
    AsyncioConnection,
)
from pika.exceptions import (  # type: ignore[import-untyped]  # as above
    AMQPError,
    ChannelClosedByBroker,
)

from onward.adapters.rabbitmq import frames

NOT_ALLOWED, NOT_FOUND, PRECONDITION_FAILED = 403, 404, 406
"""Codes with which a broker closes a channel."""
_GOODBYE_S = 5
_MOMENT_S = 0.001

Arguments = Mapping[str, int | str]
"""The x-arguments of a queue."""

# It logs every refused connection at length; the caller that opens one gets the reason to report.
logging.getLogger("pika").setLevel(logging.CRITICAL)


class LostError(Exception):
    """The connection is gone; the text says why."""


class ChannelRefusedError(Exception):
    """The broker closed the channel: `code` and `text` are its words."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(f"{code} {text}")


class Connection:
    """One open connection. `lost` is done when it is gone, with the reason."""

    def __init__(self, wire: Any) -> None:
        self._wire = wire
        self.server_version = _text(wire.server_properties["version"])
        """From the broker's greeting, which the library forgets when the connection is lost."""
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.on_blocked: Callable[[bool], None] = lambda _: None
        wire.add_on_close_callback(self._closed)
        wire.add_on_connection_blocked_callback(lambda *_: self.on_blocked(True))
        wire.add_on_connection_unblocked_callback(lambda *_: self.on_blocked(False))

    async def channel(self) -> Channel:
        """Open a channel."""
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.lost.done():
            raise LostError(self.lost.result())
        try:
            self._wire.channel(on_open_callback=lambda wire: _resolve(opened, wire))
        except AMQPError as closing:
            raise LostError(str(closing) or type(closing).__name__) from None
        await asyncio.wait([opened, self.lost], return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            raise LostError(self.lost.result())
        return Channel(opened.result())

    async def close(self) -> None:
        """Close the connection; return when it is gone."""
        if not self.lost.done():
            if self._wire.is_open:
                self._wire.close()
            await asyncio.wait([self.lost], timeout=_GOODBYE_S)
        if not self.lost.done():
            # A broker that hangs is not waited for: its side ends when the heartbeats stop.
            self._wire.abort()
            await asyncio.wait([self.lost])

    def _closed(self, _: Any, reason: BaseException) -> None:
        _resolve(self.lost, str(reason) or type(reason).__name__)


class Channel:
    """One open channel. `on_closed` is called once, when it is gone, with the reason."""

    def __init__(self, wire: Any) -> None:
        self._wire = wire
        self._number: int = wire.channel_number
        self._waiting: set[asyncio.Future[Any]] = set()
        self.on_closed: Callable[[Exception], None] = lambda _: None
        self._got: asyncio.Future[Any] | None = None
        wire.add_on_close_callback(self._closed)
        wire.add_callback(self._empty, [pika.spec.Basic.GetEmpty], one_shot=False)

    @property
    def is_open(self) -> bool:
        """Whether an acknowledgement would still reach the broker."""
        return bool(self._wire.is_open)

    async def declare_exchange(self, name: str, kind: str) -> None:
        """Make a durable exchange unless it is there."""
        await self._ask(self._wire.exchange_declare, name, exchange_type=kind, durable=True)

    async def declare_queue(self, name: str, arguments: Arguments) -> None:
        """Make a durable queue unless it is there."""
        await self._ask(self._wire.queue_declare, name, durable=True, arguments=dict(arguments))

    async def bind(self, exchange: str, queue: str) -> None:
        """Send to `queue` what `exchange` gets."""
        await self._ask(self._wire.queue_bind, queue, exchange)

    async def find_exchange(self, name: str) -> None:
        """Raise ChannelRefusedError unless an exchange is there."""
        await self._ask(self._wire.exchange_declare, name, passive=True)

    async def find_queue(self, name: str) -> int:
        """Return how many messages wait in a queue, without making it."""
        answer = await self._ask(self._wire.queue_declare, name, passive=True)
        return int(answer.method.message_count)

    async def confirm(
        self,
        settled: Callable[[int, bool, bool], None],
        returned: Callable[[str, str], None],
    ) -> None:
        """Turn confirms on.

        `settled(tag, multiple, taken)` for each confirm; before it, `returned(correlation, why)`
        for a message that found no queue.
        """

        def on_confirm(frame: Any) -> None:
            method = frame.method
            settled(method.delivery_tag, method.multiple, isinstance(method, pika.spec.Basic.Ack))

        def on_return(_: Any, method: Any, properties: Any, __: bytes) -> None:
            returned(properties.correlation_id, f"{method.reply_code} {method.reply_text}")

        self._wire.add_on_return_callback(on_return)
        await self._ask(self._wire.confirm_delivery, on_confirm)

    def publish(self, queue: str, body: bytes, correlation: str, priority: int) -> None:
        """Send a persistent, mandatory message to `queue`; the confirm comes later.

        Raises LostError when the channel is not open.
        """
        if not self._wire.is_open:
            raise LostError("the channel is closed")
        connection = self._wire.connection
        room = connection.params.frame_max
        data = frames.message(self._number, queue, body, correlation, priority, room)
        connection._output_marshaled_frames((data,))

    async def consume(
        self,
        queue: str,
        prefetch: int,
        delivered: Callable[[int, bool, bytes], None],
        cancelled: Callable[[], None],
    ) -> str:
        """Start a consumer and return its tag; `cancelled()` when the broker ends it."""
        await self._ask(self._wire.basic_qos, prefetch_count=prefetch)
        self._wire.add_on_cancel_callback(lambda _: cancelled())

        def on_message(_: Any, method: Any, __: Any, body: bytes) -> None:
            delivered(method.delivery_tag, method.redelivered, body)

        answer = await self._ask(self._wire.basic_consume, queue, on_message)
        return str(answer.method.consumer_tag)

    async def get(self, queue: str) -> tuple[int, bool, bytes] | None:
        """Take one message (tag, redelivered, body) without a consumer; None when there is none.

        One at a time.
        """
        answer: asyncio.Future[tuple[int, bool, bytes] | None]
        answer = self._got = asyncio.get_running_loop().create_future()

        def on_message(_: Any, method: Any, __: Any, body: bytes) -> None:
            _resolve(answer, (method.delivery_tag, method.redelivered, body))

        self._waiting.add(answer)
        try:
            self._wire.basic_get(queue, on_message)
            return await answer
        except AMQPError as gone:
            raise LostError(str(gone) or "the channel is closed") from None
        finally:
            self._waiting.discard(answer)

    def stop_consuming(self, consumer: str) -> None:
        """End a consumer without waiting; its deliveries stay its own."""
        self._wire.basic_cancel(consumer)

    def ack(self, tags: Iterable[int], *, up_to: int = 0) -> None:
        """Acknowledge deliveries of this channel: some, and all up to one of them."""
        data = frames.acks(self._number, tags, up_to)
        if data:
            self._wire.connection._output_marshaled_frames((data,))

    def give_back(self, tag: int) -> None:
        """Return a delivery of this channel to its queue."""
        self._wire.basic_nack(tag, requeue=True)

    def close(self) -> None:
        """Close it without waiting; unacknowledged deliveries return to their queues."""
        if self._wire.is_open:
            self._wire.close()

    async def _ask(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call `method` and return the broker's answer to it."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            method(*arguments, **named, callback=lambda frame: _resolve(answer, frame))
        except AMQPError as gone:
            raise LostError(str(gone) or "the channel is closed") from None
        self._waiting.add(answer)
        try:
            return await answer
        finally:
            self._waiting.discard(answer)

    def _empty(self, _: Any) -> None:
        if self._got is not None:
            _resolve(self._got, None)

    def _closed(self, _: Any, reason: BaseException) -> None:
        error: Exception
        if isinstance(reason, ChannelClosedByBroker):
            error = ChannelRefusedError(reason.reply_code, reason.reply_text)
        else:
            error = LostError(str(reason) or type(reason).__name__)
        for answer in tuple(self._waiting):
            if not answer.done():
                answer.set_exception(error)
        self.on_closed(error)


class _Wire(AsyncioConnection):  # type: ignore[misc]  # its base is untyped, as above
    """The library's connection, without a bug of it, and with fewer system calls.

    What is written within one turn of the event loop leaves in one piece: a message alone is three
    frames, and each would be a packet of its own, for us and for the broker. Under load, when there
    is always more to write, the next piece waits a moment to become larger.
    """

    def __init__(
        self, *values: Any, custom_ioloop: asyncio.AbstractEventLoop, **named: Any
    ) -> None:
        self._loop = custom_ioloop
        self._corked: list[bytes] = []
        self._busy_until = 0.0
        super().__init__(*values, custom_ioloop=custom_ioloop, **named)

    def abort(self) -> None:
        """Close the socket without waiting for the broker."""
        self._adapter_disconnect_stream()

    def _adapter_emit_data(self, data: bytes) -> None:
        if not self._corked:
            if self._loop.time() < self._busy_until:
                self._loop.call_at(self._busy_until, self._uncork)
            else:
                self._loop.call_soon(self._uncork)
        self._corked.append(data)

    def _uncork(self) -> None:
        corked, self._corked = self._corked, []
        if len(corked) > 1:
            self._busy_until = self._loop.time() + _MOMENT_S
        if self._transport is not None:
            super()._adapter_emit_data(b"".join(corked))

    def _on_connection_workflow_done(self, result: Any) -> None:
        # Closed in the middle of the greeting, it reports the class of its exception instead of
        # an instance, and then fails on that.
        super()._on_connection_workflow_done(result() if isinstance(result, type) else result)


async def connect(parameters: Any, timeout_s: float) -> Connection:
    """Open a connection. Raises what the client library raises, or TimeoutError."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[Connection] = loop.create_future()

    def fail(_: Any, reason: BaseException) -> None:
        opened.set_exception(reason)

    wire = _Wire(
        parameters,
        # Wrapped here, while the greeting is handled: nothing can close it unseen.
        on_open_callback=lambda opening: opened.set_result(Connection(opening)),
        on_open_error_callback=fail,
        custom_ioloop=loop,
    )
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(opened)
    except (TimeoutError, asyncio.CancelledError):
        if not opened.done():
            wire.close()
            await asyncio.wait([opened])
        if opened.exception() is None:
            await opened.result().close()
        raise


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
