"""Reading calls of message brokers and endpoints that an AsyncAPI document describes."""

from __future__ import annotations

from typing import Any

from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of, quote
from onward.languages.serverless.model import ConsumeTask, Task
from onward.languages.serverless.read.arguments import Arguments
from onward.languages.serverless.read.events import ReadList, read_foreach
from onward.languages.serverless.read.reader import DEFINITION, DocumentReader
from onward.languages.serverless.read.task_fields import read_duration
from onward.languages.serverless.templates import expression_in

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
_ENDS = ("amount", "for", "while", "until")


def read_asyncapi(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, read_list: ReadList
) -> Task:
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
    if value.get("authentication") is not None:
        at = join(fields.at, "authentication")
        policy = arguments.policy(value["authentication"], at, "/authentication")
        arguments.value["authentication"] = policy
    if arguments.value.pop("subscription", None) is None:
        return arguments.call(base, "asyncapi")
    call = arguments.call(base, "asyncapi")
    return ConsumeTask(
        **base,
        function=call.function,
        arguments=call.arguments,
        secrets=call.secrets,
        **_subscription(fields, desk, read_list),
    )


def _subscription(fields: Fields, desk: DocumentReader, read_list: ReadList) -> dict[str, Any]:
    """Return which messages are taken, how many, and what is done with each."""
    given = fields.inside("subscription", fields.mapping("subscription"))
    given.reject_unknown(("filter", "consume", "foreach"))
    wanted = desk.expression(given.value.get("filter"), join(given.at, "filter"), DEFINITION)
    consume = given.inside("consume", given.mapping("consume"))
    consume.reject_unknown(_ENDS)
    ends = [name for name in _ENDS if consume.value.get(name) is not None]
    if not ends:
        hint = "write consume: {amount: 1}, {for: PT30S}, {until: ...} or {while: ...}"
        desk.error("MISSING_FIELD", "the subscription has no end", given.at, hint)
    if len(set(ends) - {"for"}) > 1:
        message = "only one of amount, while and until says how many messages are taken"
        desk.error("BAD_FIELD", message, consume.at, "leave the others out")
    amount, at = consume.value.get("amount"), join(consume.at, "amount")
    if not isinstance(amount, str):
        consume.number("amount", 1, _MOST, whole=True)
    elif expression_in(amount) is None:
        desk.error("BAD_FIELD", "the amount is a text", at, "write a number, or ${ ... }")
    lasting = consume.value.get("for")
    foreach = None
    if given.value.get("foreach") is not None:
        foreach = read_foreach(given, desk, read_list)
    return {
        "filter": wanted,
        "amount": None if amount is None else desk.template(amount, at, DEFINITION),
        "lasting": None
        if lasting is None
        else read_duration(desk, lasting, join(consume.at, "for"), DEFINITION),
        "go_on": desk.expression(consume.value.get("while"), join(consume.at, "while"), DEFINITION),
        "until": desk.expression(consume.value.get("until"), join(consume.at, "until"), DEFINITION),
        "foreach": foreach,
    }


def _one_of(fields: Fields, names: tuple[str, str], desk: DocumentReader) -> None:
    given = [name for name in names if fields.value.get(name) is not None]
    if len(given) != 1:
        what = "both" if given else "neither"
        message = f"{fields.owner} has {what} of {names[0]} and {names[1]}"
        desk.error("BAD_FIELD", message, fields.at, f"write {names[0]} or {names[1]}")
