"""The tasks `emit` and `listen`: events, filters, correlations."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, cast

from onward.errors import ExpressionError
from onward.expressions import compile_jq
from onward.languages.document.fields import Fields
from onward.languages.document.problems import join, kind_of
from onward.languages.serverless.model import (
    Attribute,
    Correlation,
    EmitTask,
    EventFilter,
    EventSelection,
    Foreach,
    ListenTask,
    Task,
    TaskList,
)
from onward.languages.serverless.read.reader import (
    DEFINITION,
    TASK_EXPORT,
    TASK_OUTPUT,
    DocumentReader,
)
from onward.languages.serverless.read.task_fields import read_shaping
from onward.languages.serverless.templates import Expression, JsonTemplate, expression_in

ATTRIBUTES = ("id", "source", "type", "time", "subject", "datacontenttype", "dataschema", "data")
"""What an event has; any other name is an extension of its own."""
_EXTENSION = re.compile(r"[a-z0-9]{1,64}")
_SPECIAL = re.compile(r"[\\^$*+?{}\[\]|()]")
_WAYS = ("one", "any", "all")
_HOW = "write to: {one: {with: {type: ...}}}, {any: [...]} or {all: [...]}"


def read_emit(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    """Return an event to be published."""
    outer = fields.inside("emit", ("event",))
    event = outer.inside("event", ("with",))
    attributes = event.inside("with")
    if "type" not in attributes.value:
        hint = "write emit: {event: {with: {type: com.example.happened, data: ...}}}"
        reader.error("MISSING_FIELD", "the event has no type", attributes.at, hint)
    _check_names(attributes, reader)
    template = JsonTemplate(
        {"event": dict(attributes.value)},
        lambda text, inner: reader.text(
            text, attributes.at + inner.removeprefix("/event"), DEFINITION
        ),
    )
    return EmitTask(**base, function="emit", arguments=template, secrets=())


def _check_names(attributes: Fields, reader: DocumentReader) -> None:
    for name in attributes.value:
        if name not in ATTRIBUTES and not _EXTENSION.fullmatch(name):
            hint = f"known are {', '.join(ATTRIBUTES)}; others have small letters and digits only"
            reader.error("BAD_FIELD", f"an event has no attribute {name!r}", attributes.at, hint)


def read_listen(
    fields: Fields, base: dict[str, Any], reader: DocumentReader, _: tuple[str, ...]
) -> Task:
    """Return a wait for events."""
    at = join(fields.at, "listen")
    inner = fields.inside("listen", ("to", "read"))
    read = inner.choice("read", ("data", "envelope", "raw")) or "data"
    if inner.value.get("to") is None:
        reader.error("MISSING_FIELD", f'{fields.owner} has no "to"', at, _HOW)
    wanted = read_wanted(inner.value.get("to") or {}, join(at, "to"), reader, until=True)
    foreach = None
    if fields.value.get("foreach") is not None:
        foreach = read_foreach(fields, reader)
    form = cast(Literal["data", "envelope", "raw"], read)
    return ListenTask(**base, wanted=wanted, read=form, foreach=foreach)


def read_foreach(fields: Fields, reader: DocumentReader) -> Foreach:
    """Return what is done with each event, or message, that arrives."""
    inner = fields.inside("foreach", ("item", "at", "do", "output", "export"))
    item, index = reader.variable(inner, "item", "item"), reader.variable(inner, "at", "index")
    within = reader.with_names(item, index)
    tasks: TaskList = ()
    if inner.value.get("do") is not None:
        tasks = within.tasks(inner.value["do"], join(inner.at, "do"), fields.owner)
    return Foreach(
        item=item,
        index=index,
        tasks=tasks,
        output=read_shaping(inner, "output", "as", within, TASK_OUTPUT),
        export=read_shaping(inner, "export", "as", within, TASK_EXPORT),
    )


def read_wanted(
    value: Any,
    at: str,
    reader: DocumentReader,
    *,
    until: bool,
    allowed: frozenset[str] = DEFINITION,
) -> EventSelection:
    """Return which events are wanted. `until`: whether it may say when to stop.

    `allowed` are the variables that its expressions may name.
    """
    if not isinstance(value, dict):
        reader.error("BAD_FIELD", f"which events is a mapping, not {kind_of(value)}", at, _HOW)
        return EventSelection(filters=())
    reader.fields(
        value,
        "the events to listen to",
        at,
        (*_WAYS, "until") if until and "any" in value else _WAYS,
    )
    ways = [way for way in _WAYS if way in value]
    if len(ways) != 1:
        if value:
            reader.error("BAD_FIELD", "exactly one of one, any and all says which events", at, _HOW)
        return EventSelection(filters=())
    (way,) = ways
    here = join(at, way)
    if way == "one":
        return EventSelection(filters=(_filter(value["one"], here, reader, allowed),))
    items = value[way]
    if not isinstance(items, list) or (way == "all" and not items):
        reader.error(
            "BAD_FIELD", f"{way} needs a list of filters, not {kind_of(items)}", here, _HOW
        )
        items = []
    filters = tuple(
        _filter(item, join(here, index), reader, allowed) for index, item in enumerate(items)
    )
    return EventSelection(
        filters=filters, each=way == "all", until=_until(value, at, reader, allowed)
    )


def _until(
    value: dict[str, Any], at: str, reader: DocumentReader, allowed: frozenset[str]
) -> Expression | EventSelection | None:
    until, here = value.get("until"), join(at, "until")
    if isinstance(until, dict):
        return read_wanted(until, here, reader, until=False, allowed=allowed)
    return reader.expression(until, here, allowed)


def _filter(value: Any, at: str, reader: DocumentReader, allowed: frozenset[str]) -> EventFilter:
    if not isinstance(value, dict):
        reader.error("BAD_FIELD", f"a filter is a mapping, not {kind_of(value)}", at, _HOW)
        return EventFilter(attributes=())
    fields = reader.fields(value, "the filter", at, ("with", "correlate"))
    attributes = fields.inside("with")
    if not attributes.value:
        hint = "write with: {type: com.example.happened}"
        reader.error("MISSING_FIELD", "a filter names at least one attribute of events", at, hint)
    _check_names(attributes, reader)
    wanted_type = attributes.value.get("type")
    plain = isinstance(wanted_type, str) and _plain(wanted_type)
    return EventFilter(
        attributes=tuple(
            _attribute(name, value, join(attributes.at, name), reader, allowed)
            for name, value in attributes.value.items()
        ),
        correlations=_correlations(fields, reader, allowed),
        event_type=str(wanted_type) if plain else "",
    )


def _plain(text: str) -> bool:
    return expression_in(text) is None and _SPECIAL.search(text) is None


def _attribute(
    name: str, value: Any, at: str, reader: DocumentReader, allowed: frozenset[str]
) -> Attribute:
    template = reader.template(value, at, allowed)
    pattern = None
    if name != "data" and isinstance(value, str) and template.static and not _plain(value):
        try:
            pattern = Expression(compile_jq(f"test({json.dumps(f'^(?:{value})$')})"), value)
        except ExpressionError:
            pattern = None  # it is no regular expression, so it is only itself
    return Attribute(name=name, value=template, pattern=pattern)


def _correlations(
    fields: Fields, reader: DocumentReader, allowed: frozenset[str]
) -> tuple[Correlation, ...]:
    found = []
    correlate = fields.inside("correlate")
    for name, body in correlate.value.items():
        at = join(correlate.at, name)
        if not isinstance(body, dict) or body.get("from") is None:
            hint = "write {from: .data.orderId, expect: '${ $context.orderId }'}"
            reader.error("BAD_FIELD", f"the correlation {name!r} has no from", at, hint)
            continue
        reader.fields(body, f"the correlation {name!r}", at).reject_unknown(("from", "expect"))
        value = reader.expression(body["from"], join(at, "from"), allowed)
        expected = None
        if body.get("expect") is not None:
            expected = reader.template(body["expect"], join(at, "expect"), allowed)
        if value is not None:
            found.append(Correlation(name=name, value=value, expected=expected))
    return tuple(found)
