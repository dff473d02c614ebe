"""The part `schedule` of a document, as the trigger that starts its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from onward.kernel.cron import describe_cron_problem
from onward.languages.document.fields import Fields
from onward.languages.document.problems import Findings, join, kind_of
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.model import EventSelection
from onward.languages.serverless.read.events import read_wanted
from onward.languages.serverless.read.reader import DocumentReader
from onward.languages.serverless.run.event_filters import types_of
from onward.ports.storage.triggers import After, Cron, Interval, On, Settings

_SCHEDULES = ("every", "cron", "after", "on")
_SHORTEST_INTERVAL_MS = 1_000
_HOW = "write {every: PT15M}, {cron: '0 6 * * *'}, {after: PT1H} or {on: {one: {with: ...}}}"
_NOTHING: frozenset[str] = frozenset()
"""There is no run yet, so there are no variables."""


def read_schedule(top: Fields, reader: DocumentReader) -> Settings | None:
    """Return the trigger that starts runs of a workflow; None for none."""
    if top.value.get("schedule") is None:
        return None
    fields = top.inside("schedule", _SCHEDULES)
    ways = [way for way in _SCHEDULES if fields.value.get(way) is not None]
    if len(ways) != 1:
        message = "exactly one of every, cron, after and on says when runs start"
        reader.error("BAD_FIELD", message, fields.at, _HOW)
        return None
    (way,) = ways
    value, at = fields.value[way], join(fields.at, way)
    match way:
        case "every":
            every_ms = _duration(value, at, reader, least_ms=_SHORTEST_INTERVAL_MS)
            return Interval(every_ms=every_ms, overlap="allow", input={}, of_document=True)
        case "cron":
            return _cron(value, at, reader)
        case "after":
            return After(delay_ms=_duration(value, at, reader, least_ms=0), input={})
        case _:
            wanted = read_wanted(value, at, reader, until=True, allowed=_NOTHING)
            types = types_of(wanted) - {""}
            return On(strategy=value, types=tuple(sorted(types)), loose=reader.loose)


def _duration(value: Any, at: str, reader: DocumentReader, *, least_ms: int) -> int:
    try:
        found = duration_ms(value)
    except ValueError as problem:
        hint = "write PT15M or {minutes: 15}; there is nothing yet that an expression could see"
        reader.error("BAD_DURATION", f"this is not a duration: {problem}", at, hint)
        return least_ms
    if found < least_ms:
        reader.error("BAD_DURATION", "runs cannot start so often", at, "write a second or more")
    return found


def _cron(value: Any, at: str, reader: DocumentReader) -> Cron:
    if not isinstance(value, str):
        hint = "write five fields in quotes: '0 6 * * *'"
        message = f"a cron expression is text, not {kind_of(value)}"
        reader.error("BAD_FIELD", message, at, hint)
        value = "@daily"
    wrong = describe_cron_problem(value)
    if wrong:
        message, _, hint = wrong.partition(": ")
        reader.error("BAD_FIELD", message, at, hint)
    return Cron(expression=value, overlap="allow", input={}, of_document=True)


def strategy_of(on: On) -> EventSelection:
    """Return the events that a trigger waits for, from its document."""
    return _strategy(json.dumps(on.strategy), on.loose)


@lru_cache(maxsize=256)
def _strategy(text: str, loose: bool) -> EventSelection:
    value: Mapping[str, Any] = json.loads(text)
    return read_wanted(
        value, "/schedule/on", DocumentReader(Findings(), loose=loose), until=True, allowed=_NOTHING
    )
