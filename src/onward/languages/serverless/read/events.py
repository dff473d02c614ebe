"""Reading what is emitted and what is listened to: events, filters, correlations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
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

ReadList = Callable[[Any, str, str, DocumentReader], TaskList]


def read_emit(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, _: tuple[str, ...]
) -> Task:
    """Return an event to be published."""
    at = join(fields.at, "emit")
    outer = desk.fields(fields.mapping("emit"), f'{fields.owner}: "emit"', at)
    outer.reject_unknown(("event",))
    event = outer.inside("event", outer.mapping("event"))
    event.reject_unknown(("with",))
    given = event.inside("with", event.mapping("with"))
    if "type" not in given.value:
        hint = "write emit: {event: {with: {type: com.example.happened, data: ...}}}"
        desk.error("MISSING_FIELD", "the event has no type", given.at, hint)
    _check_names(given, desk)
    template = JsonTemplate(
        {"event": dict(given.value)},
        lambda text, inner: desk.text(text, given.at + inner.removeprefix("/event"), DEFINITION),
    )
    return EmitTask(**base, function="emit", arguments=template, secrets=())


def _check_names(given: Fields, desk: DocumentReader) -> None:
    for name in given.value:
        if name not in ATTRIBUTES and not _EXTENSION.fullmatch(name):
            hint = f"known are {', '.join(ATTRIBUTES)}; others have small letters and digits only"
            desk.error("BAD_FIELD", f"an event has no attribute {name!r}", given.at, hint)


def read_listen(
    fields: Fields, base: dict[str, Any], desk: DocumentReader, read_list: ReadList
) -> Task:
    """Return a wait for events."""
    at = join(fields.at, "listen")
    inner = desk.fields(fields.mapping("listen"), f'{fields.owner}: "listen"', at)
    inner.reject_unknown(("to", "read"))
    read = inner.choice("read", ("data", "envelope", "raw")) or "data"
    if inner.value.get("to") is None:
        desk.error("MISSING_FIELD", f'{fields.owner} has no "to"', at, _HOW)
    wanted = read_wanted(inner.value.get("to") or {}, join(at, "to"), desk, until=True)
    foreach = None
    if fields.value.get("foreach") is not None:
        foreach = read_foreach(fields, desk, read_list)
    form = cast(Literal["data", "envelope", "raw"], read)
    return ListenTask(**base, wanted=wanted, read=form, foreach=foreach)


def read_foreach(fields: Fields, desk: DocumentReader, read_list: ReadList) -> Foreach:
    """Return what is done with each of the events, or messages, that come."""
    inner = fields.inside("foreach", fields.mapping("foreach"))
    inner.reject_unknown(("item", "at", "do", "output", "export"))
    item, index = desk.variable(inner, "item", "item"), desk.variable(inner, "at", "index")
    within = desk.with_names(item, index)
    tasks: TaskList = ()
    if inner.value.get("do") is not None:
        tasks = read_list(inner.value["do"], join(inner.at, "do"), fields.owner, within)
    return Foreach(
        item=item,
        index=index,
        tasks=tasks,
        output=read_shaping(inner, "output", "as", within, TASK_OUTPUT),
        export=read_shaping(inner, "export", "as", within, TASK_EXPORT),
    )


def read_wanted(
    value: Any, at: str, desk: DocumentReader, *, until: bool, allowed: frozenset[str] = DEFINITION
) -> EventSelection:
    """Return which events are wanted. `until`: whether it may say when to stop.

    `allowed` are the variables that its expressions may name.
    """
    if not isinstance(value, dict):
        desk.error("BAD_FIELD", f"which events is a mapping, not {kind_of(value)}", at, _HOW)
        return EventSelection(filters=())
    fields = desk.fields(value, "the events to listen to", at)
    fields.reject_unknown((*_WAYS, "until") if until and "any" in value else _WAYS)
    ways = [way for way in _WAYS if way in value]
    if len(ways) != 1:
        if value:
            desk.error("BAD_FIELD", "exactly one of one, any and all says which events", at, _HOW)
        return EventSelection(filters=())
    (way,) = ways
    here = join(at, way)
    if way == "one":
        return EventSelection(filters=(_filter(value["one"], here, desk, allowed),))
    given = value[way]
    if not isinstance(given, list) or (way == "all" and not given):
        desk.error("BAD_FIELD", f"{way} needs a list of filters, not {kind_of(given)}", here, _HOW)
        given = []
    filters = tuple(
        _filter(one, join(here, index), desk, allowed) for index, one in enumerate(given)
    )
    return EventSelection(
        filters=filters, each=way == "all", until=_until(value, at, desk, allowed)
    )


def _until(
    value: dict[str, Any], at: str, desk: DocumentReader, allowed: frozenset[str]
) -> Expression | EventSelection | None:
    until, here = value.get("until"), join(at, "until")
    if isinstance(until, dict):
        return read_wanted(until, here, desk, until=False, allowed=allowed)
    return desk.expression(until, here, allowed)


def _filter(value: Any, at: str, desk: DocumentReader, allowed: frozenset[str]) -> EventFilter:
    if not isinstance(value, dict):
        desk.error("BAD_FIELD", f"a filter is a mapping, not {kind_of(value)}", at, _HOW)
        return EventFilter(attributes=())
    fields = desk.fields(value, "the filter", at)
    fields.reject_unknown(("with", "correlate"))
    given = fields.inside("with", fields.mapping("with"))
    if not given.value:
        hint = "write with: {type: com.example.happened}"
        desk.error("MISSING_FIELD", "a filter names at least one attribute of events", at, hint)
    _check_names(given, desk)
    wanted_type = given.value.get("type")
    plain = isinstance(wanted_type, str) and _plain(wanted_type)
    return EventFilter(
        attributes=tuple(
            _attribute(name, one, join(given.at, name), desk, allowed)
            for name, one in given.value.items()
        ),
        correlations=_correlations(fields, desk, allowed),
        event_type=str(wanted_type) if plain else "",
    )


def _plain(text: str) -> bool:
    return expression_in(text) is None and _SPECIAL.search(text) is None


def _attribute(
    name: str, value: Any, at: str, desk: DocumentReader, allowed: frozenset[str]
) -> Attribute:
    template = desk.template(value, at, allowed)
    pattern = None
    if name != "data" and isinstance(value, str) and template.static and not _plain(value):
        try:
            pattern = Expression(compile_jq(f"test({json.dumps(f'^(?:{value})$')})"), value)
        except ExpressionError:
            pattern = None  # it is no regular expression, so it is only itself
    return Attribute(name=name, value=template, pattern=pattern)


def _correlations(
    fields: Fields, desk: DocumentReader, allowed: frozenset[str]
) -> tuple[Correlation, ...]:
    found = []
    given = fields.inside("correlate", fields.mapping("correlate"))
    for name, one in given.value.items():
        at = join(given.at, name)
        if not isinstance(one, dict) or one.get("from") is None:
            hint = "write {from: .data.orderId, expect: '${ $context.orderId }'}"
            desk.error("BAD_FIELD", f"the correlation {name!r} has no from", at, hint)
            continue
        desk.fields(one, f"the correlation {name!r}", at).reject_unknown(("from", "expect"))
        value = desk.expression(one["from"], join(at, "from"), allowed)
        expected = None
        if one.get("expect") is not None:
            expected = desk.template(one["expect"], join(at, "expect"), allowed)
        if value is not None:
            found.append(Correlation(name=name, value=value, expected=expected))
    return tuple(found)
