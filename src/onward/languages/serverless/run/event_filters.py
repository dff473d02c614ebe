"""Which events start a run together: a pure decision about each event as it comes.

An event goes into the first gathering that wants it, or begins one. So two orders whose events come
mixed start two runs, and no event is lost because another of its kind came first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onward.errors import ExpressionError
from onward.languages.serverless.model import Attribute, EventFilter, EventSelection
from onward.languages.serverless.templates import EvaluationInput, Expression
from onward.ports.storage.event_sets import EventSet

# -- Events held against what is wanted: filters, and what correlated events agree in.


Event = Mapping[str, Any]


def types_of(wanted: EventSelection) -> set[str]:
    """Return the types of events that can be wanted; only "" if it can be any."""
    found = {one.event_type for one in _filters(wanted)}
    anything = not wanted.filters or (
        isinstance(wanted.until, EventSelection) and not wanted.until.filters
    )
    return {""} if anything or "" in found else found


def _filters(wanted: EventSelection) -> Iterator[EventFilter]:
    yield from wanted.filters
    if isinstance(wanted.until, EventSelection):
        yield from _filters(wanted.until)


def enough(wanted: EventSelection, met: list[int]) -> bool:
    """Return whether what is met is all that is wanted."""
    return len(met) >= (len(wanted.filters) if wanted.each else 1)


class Look:
    """One event, held against filters. `keys`: what correlated events have agreed in so far."""

    def __init__(
        self,
        given: Callable[[Any], EvaluationInput],
        expecting: Any,
        event: Event,
        keys: dict[str, Any],
    ) -> None:
        """`given` makes what expressions work on; `expecting` is the data of `expect`."""
        self._given = given
        self._expecting = expecting
        self._event = event
        self.keys = keys

    def meets(self, wanted: EventSelection, met: list[int]) -> list[int] | None:
        """Return which filters are met now that the event is there; None: it meets none."""
        if not wanted.filters:
            return [0]
        for index, one in enumerate(wanted.filters):
            if wanted.each and index in met:
                continue
            keys = self._passes(one)
            if keys is not None:
                self.keys = keys
                return [*met, index] if wanted.each else [0]
        return None

    def _passes(self, wanted: EventFilter) -> dict[str, Any] | None:
        """Return what correlated events agree in, this one included; None: it does not pass."""
        try:
            if not all(self._fits(attribute) for attribute in wanted.attributes):
                return None
            keys = self.keys
            for correlation in wanted.correlations:
                found = correlation.value.evaluate(self._given(self._event))
                if found is None:
                    return None
                expected = keys.get(correlation.name, found)
                if correlation.expected is not None:
                    expected = correlation.expected.render(self._given(self._expecting))
                if expected != found:
                    return None
                keys = {**keys, correlation.name: found}
        except ExpressionError:
            return None  # somebody else's event is no mistake of this workflow
        return keys

    def _fits(self, wanted: Attribute) -> bool:
        event = self._event
        found = event.get(wanted.name)
        subject = found if wanted.name == "data" else event
        value = wanted.value.render(self._given(subject))
        if isinstance(value, bool) and not wanted.value.static:
            return value
        if value == found:
            return True
        return (
            wanted.pattern is not None
            and isinstance(found, str)
            and wanted.pattern.holds(self._given(found))
        )


class Step(NamedTuple):
    """What one event does."""

    after: EventSet
    """The gathering that it is in from now on."""
    counted: bool
    """Whether it is one of those that the run gets; otherwise it only ends the gathering."""
    complete: bool


def alone(wanted: EventSelection) -> bool:
    """Return whether one event is enough, whichever comes."""
    return wanted.until is None and (not wanted.each or len(wanted.filters) == 1)


def passes(wanted: EventSelection, event: Event, now_ms: int) -> bool:
    """Return whether an event is wanted where one is enough."""
    return _look(event, {}, now_ms).meets(wanted, []) is not None


def take(
    wanted: EventSelection,
    known: Sequence[EventSet],
    event: Event,
    so_far: Mapping[str, Sequence[Event]],
    *,
    name: str,
    now_ms: int,
) -> Step | None:
    """Return what an event does to what is open; None: it is not wanted.

    `so_far` are the events of each gathering, needed where a condition looks at them. `name` is for
    a gathering that begins.
    """
    for one in known:
        found = _join(wanted, one, event, so_far.get(one.name, ()), now_ms)
        if found is not None:
            return found
    looking = _look(event, {}, now_ms)
    met = looking.meets(wanted, [])
    if met is None:
        return None
    fresh = EventSet(name=name, began_ms=now_ms)
    return _counted(wanted, fresh, met, looking.keys, [event], now_ms)


def _join(
    wanted: EventSelection, one: EventSet, event: Event, so_far: Sequence[Event], now_ms: int
) -> Step | None:
    looking = _look(event, one.keys, now_ms)
    if isinstance(wanted.until, EventSelection):
        ending = looking.meets(wanted.until, one.until)
        if ending is not None:
            after = msgspec.structs.replace(one, until=ending, keys=looking.keys)
            return Step(after, counted=False, complete=enough(wanted.until, ending))
    met = looking.meets(wanted, one.met)
    if met is None:
        return None
    return _counted(wanted, one, met, looking.keys, [*so_far, event], now_ms)


def _counted(
    wanted: EventSelection,
    before: EventSet,
    met: list[int],
    keys: dict[str, Any],
    events: Sequence[Event],
    now_ms: int,
) -> Step:
    after = msgspec.structs.replace(before, met=met, keys=keys, size=before.size + 1)
    if isinstance(wanted.until, Expression):
        return Step(after, counted=True, complete=_over(wanted.until, events, now_ms))
    return Step(after, counted=True, complete=wanted.until is None and enough(wanted, met))


def _over(until: Expression, events: Sequence[Event], now_ms: int) -> bool:
    """Return whether a condition holds of the events that the run would get."""
    try:
        return until.holds(EvaluationInput(list(events), {}, now_ms))
    except ExpressionError:
        return False  # it may hold when there are more


def _look(event: Event, keys: dict[str, Any], now_ms: int) -> Look:
    return Look(lambda data: EvaluationInput(data, {}, now_ms), None, event, keys)
