"""Calls of message brokers and endpoints that an AsyncAPI document describes."""

from __future__ import annotations

from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, quote
from onward.languages.serverless.model import ConsumeTask, Task
from onward.languages.serverless.read.arguments import Arguments
from onward.languages.serverless.read.events import read_foreach
from onward.languages.serverless.read.reader import DEFINITION, DocumentReader
from onward.languages.serverless.read.task_fields import check_mapping, read_duration
from onward.languages.serverless.templates import expression_in

ASYNCAPI_FIELDS = (
    *("document", "channel", "operation", "server", "protocol"),
    *("message", "subscription", "authentication"),
)
_PROTOCOLS = (
    "amqp",
    "amqp1",
    "anypointmq",
    "googlepubsub",
    "http",
    "ibmmq",
    "jms",
    "kafka",
    "mercure",
    "mqtt",
    "mqtt5",
    "nats",
    "pulsar",
    "redis",
    "sns",
    "solace",
    "sqs",
    "stomp",
    "ws",
)
_SUPPORTED = ("http", "amqp")
_MOST_MESSAGES = 10_000
_ENDS = ("amount", "for", "while", "until")


def read_asyncapi(fields: Fields, base: dict[str, Any], reader: DocumentReader) -> Task:
    """Return a call that publishes a message, or takes messages."""
    value = fields.value
    _one_of(fields, ("channel", "operation"), reader)
    _one_of(fields, ("message", "subscription"), reader)
    for name in ("channel", "operation"):
        fields.text(name)
    if fields.choice("protocol", _PROTOCOLS) not in (None, *_SUPPORTED):
        what = f"the protocol {quote(str(value['protocol']))}"
        reader.unsupported(what, join(fields.at, "protocol"), f"use {' or '.join(_SUPPORTED)}")
    server = fields.inside("server", ("name", "variables"))
    if value.get("server") is not None:
        server.text("name", required="name a server of the document")
        server.mapping("variables")
    arguments = Arguments(reader, fields.at, dict(value))
    arguments.value["document"] = arguments.resource(fields, "document")
    if value.get("message") is not None:
        message = fields.inside("message", ("payload", "headers"))
        check_mapping(message, "headers", reader)
    arguments.authentication(fields)
    subscribes = arguments.value.pop("subscription", None) is not None
    call = arguments.call(base, "asyncapi")
    if not subscribes:
        return call
    return ConsumeTask(
        **base,
        function=call.function,
        arguments=call.arguments,
        secrets=call.secrets,
        **_subscription(fields, reader),
    )


def _subscription(fields: Fields, reader: DocumentReader) -> dict[str, Any]:
    """Return which messages are taken, how many, and what is done with each."""
    subscription = fields.inside("subscription", ("filter", "consume", "foreach"))
    wanted = reader.expression(
        subscription.value.get("filter"), join(subscription.at, "filter"), DEFINITION
    )
    consume = subscription.inside("consume", _ENDS)
    ends = [name for name in _ENDS if consume.value.get(name) is not None]
    if not ends:
        hint = "write consume: {amount: 1}, {for: PT30S}, {until: ...} or {while: ...}"
        reader.error("MISSING_FIELD", "the subscription has no end", subscription.at, hint)
    if len(set(ends) - {"for"}) > 1:
        message = "only one of amount, while and until says how many messages are taken"
        reader.error("BAD_FIELD", message, consume.at, "leave the others out")
    amount, at = consume.value.get("amount"), join(consume.at, "amount")
    if not isinstance(amount, str):
        consume.number("amount", 1, _MOST_MESSAGES, whole=True)
    elif expression_in(amount) is None:
        reader.error("BAD_FIELD", "the amount is a text", at, "write a number, or ${ ... }")
    lasting = consume.value.get("for")
    foreach = None
    if subscription.value.get("foreach") is not None:
        foreach = read_foreach(subscription, reader)
    return {
        "filter": wanted,
        "amount": None if amount is None else reader.template(amount, at, DEFINITION),
        "lasting": None
        if lasting is None
        else read_duration(reader, lasting, join(consume.at, "for"), DEFINITION),
        "while_condition": reader.expression(
            consume.value.get("while"), join(consume.at, "while"), DEFINITION
        ),
        "until": reader.expression(
            consume.value.get("until"), join(consume.at, "until"), DEFINITION
        ),
        "foreach": foreach,
    }


def _one_of(fields: Fields, names: tuple[str, str], reader: DocumentReader) -> None:
    found = [name for name in names if fields.value.get(name) is not None]
    if len(found) != 1:
        what = "both" if found else "neither"
        message = f"{fields.owner} has {what} of {names[0]} and {names[1]}"
        reader.error("BAD_FIELD", message, fields.at, f"write {names[0]} or {names[1]}")
