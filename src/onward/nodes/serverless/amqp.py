"""Messages of an AMQP 0-9-1 broker: sent with a confirm, taken until their outcome is saved.

Both block, in a thread of their own. When messages are taken the thread holds the connection until
the outcome is saved, and then acknowledges them. If that never happens (the run has ended, the
worker dies) the connection ends, and the broker has its messages back.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from onward.nodes.failures import RefusedError, import_optional
from onward.nodes.serverless.asyncapi_document import MessageRoute
from onward.ports.nodes.node import CommitCallback

_LULL_S = 0.05
"""A pause after a message that ends the wait for more."""
_POLL_S = 1.0
_LONGEST_HOLD_S = 90.0
"""Longer than it takes to save an outcome; for when no process is left to report it."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AmqpTarget:
    """The broker and the route of messages there, and who connects."""

    route: MessageRoute
    username: str
    password: str = field(repr=False)

    @property
    def target(self) -> tuple[str, str]:
        """Return the exchange and the routing key to which messages are sent."""
        bindings = self.route.bindings
        if bindings.get("is") == "routingKey":
            exchange = bindings.get("exchange")
            name = exchange.get("name", "") if isinstance(exchange, Mapping) else ""
            return str(name), self.route.address
        return "", self.queue

    @property
    def queue(self) -> str:
        """Return the queue from which messages are taken."""
        queue = self.route.bindings.get("queue")
        name = queue.get("name") if isinstance(queue, Mapping) else None
        return str(name or self.route.address)


def publish(broker: AmqpTarget, payload: Any, headers: Mapping[str, Any]) -> None:
    """Send one message and wait until the broker has it; one that no queue takes is an error."""
    pika = import_optional("pika", "rabbitmq")
    exchange, key = broker.target
    properties = pika.BasicProperties(
        content_type="application/json", delivery_mode=2, headers=dict(headers)
    )
    with open_channel(broker) as channel:
        channel.confirm_delivery()
        try:
            channel.basic_publish(
                exchange, key, msgspec.json.encode(payload), properties, mandatory=True
            )
        except pika.exceptions.UnroutableError:
            where = f"exchange {exchange!r}, routing key {key!r}"
            raise RefusedError(
                f"no queue takes what is sent to {where}", "HTTP_UNROUTABLE"
            ) from None


@contextmanager
def open_channel(broker: AmqpTarget) -> Iterator[Any]:
    """Open a channel of a connection of its own. Raises RefusedError."""
    pika = import_optional("pika", "rabbitmq")
    try:
        parameters = pika.URLParameters(broker.route.url)
        if broker.username:
            parameters.credentials = pika.PlainCredentials(broker.username, broker.password)
        connection = pika.BlockingConnection(parameters)
    except (pika.exceptions.AMQPError, OSError, ValueError) as error:
        text = f"the broker cannot be reached: {str(error) or type(error).__name__}"
        raise RefusedError(text, "HTTP_CONNECT") from None
    try:
        yield connection.channel()
    except pika.exceptions.AMQPError as error:
        text = f"the broker refused: {str(error) or type(error).__name__}"
        raise RefusedError(text, "HTTP_BROKER") from None
    finally:
        if connection.is_open:
            connection.close()


# -- taking --------------------------------------------------------------------------------------


async def take_messages(
    broker: AmqpTarget, most: int, wait_s: float, after_commit: Callable[[CommitCallback], None]
) -> list[Message]:
    """Return messages of a queue, in order: those there, or arriving in time. Raises RefusedError.

    They are acknowledged when `after_commit` reports their outcome saved, and go back otherwise.
    """
    taker = _Taker(broker, most, time.monotonic() + wait_s)
    threading.Thread(target=taker.run, name="onward-amqp").start()
    try:
        messages = await taker.found
    except asyncio.CancelledError:
        taker.settle(False)
        raise
    if messages:
        after_commit(taker.settle)
    return messages


class _Taker:
    """Takes messages and holds them, in its own thread."""

    def __init__(self, broker: AmqpTarget, most: int, until: float) -> None:
        self._broker = broker
        self._most = most
        self._until = until
        self._loop = asyncio.get_running_loop()
        self.found: asyncio.Future[list[Message]] = self._loop.create_future()
        self._saved: bool | None = None
        self._wake: Callable[[], None] | None = None

    def settle(self, saved: bool) -> None:
        """Note whether the outcome of the messages is saved."""
        self._saved = saved
        if self._wake is not None:
            with suppress(Exception):  # the connection is gone: so are the messages
                self._wake()

    def run(self) -> None:
        """Take messages, deliver them, and wait until their outcome is saved."""
        try:
            with open_channel(self._broker) as channel:
                self._take(channel)
        except RefusedError as problem:
            self._deliver(problem)
        except Exception as problem:
            self._deliver(
                RefusedError(f"the broker violates its protocol: {problem}", "HTTP_BROKER")
            )

    def _take(self, channel: Any) -> None:
        messages: list[Message] = []
        last = 0
        channel.basic_qos(prefetch_count=self._most)
        for method, properties, body in channel.consume(
            self._broker.queue, inactivity_timeout=_LULL_S
        ):
            if method is not None:
                messages.append(_message(properties, body))
                last = method.delivery_tag
            elif messages or time.monotonic() >= self._until:
                break
            if len(messages) >= self._most or self._saved is not None:
                break
        connection = channel.connection
        self._wake = partial(connection.add_callback_threadsafe, lambda: None)
        self._deliver(messages)
        give_up = time.monotonic() + _LONGEST_HOLD_S
        while messages and self._saved is None and time.monotonic() < give_up:
            connection.process_data_events(time_limit=_POLL_S)
        if messages and self._saved:
            channel.basic_ack(last, multiple=True)
            channel.cancel()

    def _deliver(self, found: list[Message] | RefusedError) -> None:
        def set_future() -> None:
            if self.found.done():
                return
            if isinstance(found, RefusedError):
                self.found.set_exception(found)
            else:
                self.found.set_result(found)

        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(set_future)


def _message(properties: Any, body: bytes) -> Message:
    message = {"payload": _value(body), "headers": _plain(properties.headers)}
    if properties.correlation_id is not None:
        message["correlationId"] = properties.correlation_id
    return message


def _value(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")


def _plain(headers: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return headers as data; what is neither text nor a number is written as text."""
    plain = str | int | float | bool
    return {
        name: value if value is None or isinstance(value, plain) else str(value)
        for name, value in (headers or {}).items()
    }
