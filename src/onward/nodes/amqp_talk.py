"""A short talk with an AMQP 0-9-1 broker, for a task: blocking, in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from onward.nodes.asyncapi_document import Way
from onward.nodes.optional import optional
from onward.nodes.refused import Refused


@dataclass(frozen=True, slots=True)
class Talk:
    """Where to talk, and as whom."""

    way: Way
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


def publish(talk: Talk, payload: Any, headers: Mapping[str, Any]) -> None:
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
def channel_of(talk: Talk) -> Iterator[Any]:
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
