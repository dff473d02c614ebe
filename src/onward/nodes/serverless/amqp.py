"""Taking messages from an AMQP 0-9-1 broker: acknowledged when what was taken is kept.

A thread of its own holds the connection from the first message until then. If that never comes
(the run has ended, the worker dies) the connection ends, and the broker has its messages back.
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

from onward.nodes.failures import Refused, optional
from onward.nodes.serverless.asyncapi_document import MessageRoute
from onward.ports.nodes.node import CommitCallback

# -- A short talk with an AMQP 0-9-1 broker, for a task: blocking, in a thread of its own.


@dataclass(frozen=True, slots=True)
class AmqpTarget:
    """Where to talk, and as whom."""

    way: MessageRoute
    username: str
    password: str = field(repr=False)

    @property
    def target(self) -> tuple[str, str]:
        """Return the exchange and the routing key to which messages are sent."""
        bindings = self.way.bindings
        if bindings.get("is") == "routingKey":
            exchange = bindings.get("exchange")
            name = exchange.get("name", "") if isinstance(exchange, Mapping) else ""
            return str(name), self.way.address
        return "", self.queue

    @property
    def queue(self) -> str:
        """Return the queue from which messages are taken."""
        queue = self.way.bindings.get("queue")
        name = queue.get("name") if isinstance(queue, Mapping) else None
        return str(name or self.way.address)


def publish(talk: AmqpTarget, payload: Any, headers: Mapping[str, Any]) -> None:
    """Send one message and wait until the broker has it; one that no queue takes is an error."""
    pika = optional("pika", "rabbitmq")
    exchange, key = talk.target
    properties = pika.BasicProperties(
        content_type="application/json", delivery_mode=2, headers=dict(headers)
    )
    with channel_of(talk) as channel:
        channel.confirm_delivery()
        try:
            channel.basic_publish(
                exchange, key, msgspec.json.encode(payload), properties, mandatory=True
            )
        except pika.exceptions.UnroutableError:
            where = f"exchange {exchange!r}, routing key {key!r}"
            raise Refused(f"no queue takes what is sent to {where}", "HTTP_UNROUTABLE") from None


@contextmanager
def channel_of(talk: AmqpTarget) -> Iterator[Any]:
    """Open a channel of a connection of its own. Raises Refused."""
    pika = optional("pika", "rabbitmq")
    try:
        parameters = pika.URLParameters(talk.way.url)
        if talk.username:
            parameters.credentials = pika.PlainCredentials(talk.username, talk.password)
        connection = pika.BlockingConnection(parameters)
    except (pika.exceptions.AMQPError, OSError, ValueError) as error:
        text = f"the broker cannot be reached: {str(error) or type(error).__name__}"
        raise Refused(text, "HTTP_CONNECT") from None
    try:
        yield connection.channel()
    except pika.exceptions.AMQPError as error:
        text = f"the broker refused: {str(error) or type(error).__name__}"
        raise Refused(text, "HTTP_BROKER") from None
    finally:
        if connection.is_open:
            connection.close()


_LULL_S = 0.05
"""A pause after a message that ends the wait for more."""
_LOOK_S = 1.0
_PATIENCE_S = 90.0
"""Longer than it takes to be told; for when nobody is left who could tell."""

Message = dict[str, Any]


async def take(
    talk: AmqpTarget, most: int, wait_s: float, after_commit: Callable[[CommitCallback], None]
) -> list[Message]:
    """Return messages of a queue, in order: those that are there, or come in time. Raises Refused.

    They are acknowledged when `after_commit` says that they may be, and go back otherwise.
    """
    hand = _Hand(talk, most, time.monotonic() + wait_s)
    threading.Thread(target=hand.work, name="onward-amqp").start()
    try:
        messages = await hand.found
    except asyncio.CancelledError:
        hand.told(False)
        raise
    if messages:
        after_commit(hand.told)
    return messages


class _Hand:
    """What holds messages, in its own thread."""

    def __init__(self, talk: AmqpTarget, most: int, until: float) -> None:
        self._talk = talk
        self._most = most
        self._until = until
        self._loop = asyncio.get_running_loop()
        self.found: asyncio.Future[list[Message]] = self._loop.create_future()
        self._kept: bool | None = None
        self._wake: Callable[[], None] | None = None

    def told(self, kept: bool) -> None:
        """Hear whether the messages are kept."""
        self._kept = kept
        if self._wake is not None:
            with suppress(Exception):  # the connection is gone: so are the messages
                self._wake()

    def work(self) -> None:
        """Take messages, hand them over, and wait for what becomes of them."""
        try:
            with channel_of(self._talk) as channel:
                self._take(channel)
        except Refused as problem:
            self._hand_over(problem)
        except Exception as problem:
            self._hand_over(Refused(f"the broker breaks its protocol: {problem}", "HTTP_BROKER"))

    def _take(self, channel: Any) -> None:
        messages: list[Message] = []
        last = 0
        channel.basic_qos(prefetch_count=self._most)
        for method, properties, body in channel.consume(
            self._talk.queue, inactivity_timeout=_LULL_S
        ):
            if method is not None:
                messages.append(_message(properties, body))
                last = method.delivery_tag
            elif messages or time.monotonic() >= self._until:
                break
            if len(messages) >= self._most or self._kept is not None:
                break
        connection = channel.connection
        self._wake = partial(connection.add_callback_threadsafe, lambda: None)
        self._hand_over(messages)
        give_up = time.monotonic() + _PATIENCE_S
        while messages and self._kept is None and time.monotonic() < give_up:
            connection.process_data_events(time_limit=_LOOK_S)
        if messages and self._kept:
            channel.basic_ack(last, multiple=True)
            channel.cancel()

    def _hand_over(self, found: list[Message] | Refused) -> None:
        def give() -> None:
            if self.found.done():
                return
            if isinstance(found, Refused):
                self.found.set_exception(found)
            else:
                self.found.set_result(found)

        with suppress(RuntimeError):  # nobody is there any more
            self._loop.call_soon_threadsafe(give)


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
        name: one if one is None or isinstance(one, plain) else str(one)
        for name, one in (headers or {}).items()
    }
