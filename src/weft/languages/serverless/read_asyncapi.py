"""Reading calls of message brokers and endpoints that an AsyncAPI document describes."""

from __future__ import annotations

from typing import Any

from weft.languages.graph.fields import Fields
from weft.languages.graph.findings import join, kind_of, quote
from weft.languages.serverless.arguments import Arguments
from weft.languages.serverless.desk import DEFINITION, Desk
from weft.languages.serverless.model import Task
from weft.languages.serverless.read_parts import read_duration

_KNOWN = ("document", "channel", "operation", "server", "protocol", "message", "subscription")
_PROTOCOLS: tuple[str, ...] = (
    "amqp",
    "amqp1",
    "anypointmq",
    "googlepubsub",
    "http",
    "ibmmq",
    "jms",
    "kafka",
)
_PROTOCOLS += ("mercure", "mqtt", "mqtt5", "nats", "pulsar", "redis", "sns", "solace", "sqs")
_PROTOCOLS += ("stomp", "ws")
_SPOKEN = ("http", "amqp")
_MOST = 10_000


def read_asyncapi(fields: Fields, base: dict[str, Any], desk: Desk) -> Task:
    """Return a call that publishes a message, or takes messages."""
    fields.reject_unknown((*_KNOWN, "authentication"))
    value = fields.value
    _one_of(fields, ("channel", "operation"), desk)
    _one_of(fields, ("message", "subscription"), desk)
    for name in ("channel", "operation"):
        fields.text(name)
    if fields.choice("protocol", _PROTOCOLS) not in (None, *_SPOKEN):
        what = f"the protocol {quote(str(value['protocol']))}"
        desk.unsupported(what, join(fields.at, "protocol"), f"use {' or '.join(_SPOKEN)}")
    server = fields.inside("server", fields.mapping("server"))
    server.reject_unknown(("name", "variables"))
    if value.get("server") is not None:
        server.text("name", required="name a server of the document")
        server.mapping("variables")
    arguments = Arguments(desk, fields.at, dict(value))
    arguments.value["document"] = arguments.resource(fields, "document")
    if value.get("message") is not None:
        message = fields.inside("message", fields.mapping("message"))
        message.reject_unknown(("payload", "headers"))
        headers = message.value.get("headers")
        if headers is not None and not isinstance(headers, dict | str):
            text = f"headers must be a mapping or an expression, not {kind_of(headers)}"
            desk.error("BAD_FIELD", text, join(message.at, "headers"))
    if value.get("subscription") is not None:
        _subscription(fields, arguments, desk)
    if value.get("authentication") is not None:
        at = join(fields.at, "authentication")
        policy = arguments.policy(value["authentication"], at, "/authentication")
        arguments.value["authentication"] = policy
    return arguments.call(base, "asyncapi")


def _subscription(fields: Fields, arguments: Arguments, desk: Desk) -> None:
    """Check how long messages are taken. A bound is needed: a call cannot last for ever."""
    given = fields.inside("subscription", fields.mapping("subscription"))
    given.reject_unknown(("filter", "consume", "foreach"))
    for name in ("filter", "foreach"):
        if given.value.get(name) is not None:
            hint = "take the messages, and then use a `for` task over them"
            desk.unsupported(f"`{name}` of a subscription", join(given.at, name), hint)
    if fields.value.get("protocol") == "http":
        hint = "use a server that speaks amqp"
        desk.unsupported("subscribing over http", given.at, hint)
    consume = given.inside("consume", given.mapping("consume"))
    consume.reject_unknown(("amount", "for", "while", "until"))
    for name in ("while", "until"):
        if consume.value.get(name) is not None:
            hint = "write an `amount`, or a time with `for`"
            desk.unsupported(f"`{name}` of a subscription", join(consume.at, name), hint)
    amount = consume.value.get("amount")
    if not isinstance(amount, str):
        consume.number("amount", 1, _MOST, whole=True)
    taken: dict[str, Any] = {"amount": amount}
    if consume.value.get("for") is not None:
        at = join(consume.at, "for")
        length = read_duration(desk, consume.value["for"], at, DEFINITION)
        if length.fixed_ms is None:
            desk.unsupported("an expression as `for`", at, "write a duration such as PT30S")
        taken["for_ms"] = length.fixed_ms
    if amount is None and "for_ms" not in taken:
        hint = "write consume: {amount: 1} or consume: {for: PT30S}"
        desk.error("MISSING_FIELD", "the subscription has no end", given.at, hint)
    arguments.moved("/subscription", consume.at)
    arguments.value["subscription"] = taken


def _one_of(fields: Fields, names: tuple[str, str], desk: Desk) -> None:
    given = [name for name in names if fields.value.get(name) is not None]
    if len(given) != 1:
        what = "both" if given else "neither"
        message = f"{fields.owner} has {what} of {names[0]} and {names[1]}"
        desk.error("BAD_FIELD", message, fields.at, f"write {names[0]} or {names[1]}")
