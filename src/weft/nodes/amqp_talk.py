"""A short talk with an AMQP 0-9-1 broker, for a task: blocking, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from weft.nodes.asyncapi_document import Way
from weft.nodes.optional import optional
from weft.nodes.refused import Refused

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Talk:
    """Where to talk, and as whom; `stop` ends it early."""

    way: Way
    username: str
    password: str = field(repr=False)
    stop: threading.Event

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


def publish(talk: Talk, payload: Any, headers: Mapping[str, Any]) -> None:
    """Send one message and wait until the broker has it; one that no queue takes is an error."""
    pika = optional("pika", "rabbitmq")
    exchange, key = talk.target
    properties = pika.BasicProperties(
        content_type="application/json", delivery_mode=2, headers=dict(headers)
    )
    with _channel(talk) as channel:
        channel.confirm_delivery()
        try:
            channel.basic_publish(
                exchange, key, msgspec.json.encode(payload), properties, mandatory=True
            )
        except pika.exceptions.UnroutableError:
            where = f"exchange {exchange!r}, routing key {key!r}"
            raise Refused(f"no queue takes what is sent to {where}", "HTTP_UNROUTABLE") from None


def take(talk: Talk, amount: int | None, seconds: float | None) -> list[dict[str, Any]]:
    """Return messages of a queue, in order: so many, or those that come in time."""
    found: list[dict[str, Any]] = []
    until = None if seconds is None else time.monotonic() + seconds
    last = 0
    with _channel(talk) as channel:
        for method, properties, body in channel.consume(talk.queue, inactivity_timeout=_POLL_S):
            if method is not None:
                found.append({"payload": _value(body), "headers": _plain(properties.headers)})
                last = method.delivery_tag
            if talk.stop.is_set():
                return []  # what is not acknowledged goes back to the queue
            if amount is not None and len(found) >= amount:
                break
            if until is not None and time.monotonic() >= until:
                break
        if last:
            channel.basic_ack(last, multiple=True)
        channel.cancel()
    return found


@contextmanager
def _channel(talk: Talk) -> Iterator[Any]:
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
