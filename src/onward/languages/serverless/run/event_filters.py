"""Events matched against filters: for a listen, and for the set of events that starts a run.

First come filters and the values that correlated events agree in (`EventMatch`), then event sets:
an event joins the first set that wants it, or begins one. So two orders whose events arrive mixed
start two runs, and no event is lost because another of its kind was first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onward.errors import ExpressionError
from onward.languages.serverless.model import Attribute, EventFilter, EventSelection
from onward.languages.serverless.templates import EvaluationInput, Expression
from onward.ports.storage.event_sets import EventSet

Event = Mapping[str, Any]


# -- filters -------------------------------------------------------------------------------------


def types_of(wanted: EventSelection) -> set[str]:
    """Return the types of events that can be wanted; only "" if it can be any."""
    found = {event_filter.event_type for event_filter in _filters(wanted)}
    anything = not wanted.filters or (
        isinstance(wanted.until, EventSelection) and not wanted.until.filters
    )
    return {""} if anything or "" in found else found


def _filters(wanted: EventSelection) -> Iterator[EventFilter]:
    yield from wanted.filters
    if isinstance(wanted.until, EventSelection):
        yield from _filters(wanted.until)


def is_enough(wanted: EventSelection, met: list[int]) -> bool:
    """Return whether what is met is all that is wanted."""
    return len(met) >= (len(wanted.filters) if wanted.each else 1)


class EventMatch:
    """One event, matched against filters. `keys`: the values that correlated events agree in."""

    def __init__(
        self,
        inputs_of: Callable[[Any], EvaluationInput],
        expecting: Any,
        event: Event,
        keys: dict[str, Any],
    ) -> None:
        """`inputs_of` makes what expressions work on; `expecting` is the data of `expect`."""
        self._inputs_of = inputs_of
        self._expecting = expecting
        self._event = event
        self.keys = keys

    def meets(self, wanted: EventSelection, met: list[int]) -> list[int] | None:
        """Return which filters are met now that the event is there; None: it meets none."""
        if not wanted.filters:
            return [0]
        for index, event_filter in enumerate(wanted.filters):
            if wanted.each and index in met:
                continue
            keys = self._passes(event_filter)
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
                found = correlation.value.evaluate(self._inputs_of(self._event))
                if found is None:
                    return None
                expected = keys.get(correlation.name, found)
                if correlation.expected is not None:
                    expected = correlation.expected.render(self._inputs_of(self._expecting))
                if expected != found:
                    return None
                keys = {**keys, correlation.name: found}
        except ExpressionError:
            return None  # an event of another application is no mistake of this workflow
        return keys

    def _fits(self, wanted: Attribute) -> bool:
        event = self._event
        found = event.get(wanted.name)
        subject = found if wanted.name == "data" else event
        value = wanted.value.render(self._inputs_of(subject))
        if isinstance(value, bool) and not wanted.value.static:
            return value
        if value == found:
            return True
        return (
            wanted.pattern is not None
            and isinstance(found, str)
            and wanted.pattern.holds(self._inputs_of(found))
        )


# -- sets of events that start a run ---------------------------------------------------------------


class EventSetStep(NamedTuple):
    """What one event does to the open sets."""

    after: EventSet
    """The set that it is in from now on."""
    counted: bool
    """Whether the run gets it; otherwise it only completes the set."""
    complete: bool


def takes_single_event(wanted: EventSelection) -> bool:
    """Return whether one event is enough, whichever comes."""
    return wanted.until is None and (not wanted.each or len(wanted.filters) == 1)


def passes(wanted: EventSelection, event: Event, now_ms: int) -> bool:
    """Return whether an event is wanted where one is enough."""
    return _match(event, {}, now_ms).meets(wanted, []) is not None


def add_event(
    wanted: EventSelection,
    known: Sequence[EventSet],
    event: Event,
    so_far: Mapping[str, Sequence[Event]],
    *,
    name: str,
    now_ms: int,
) -> EventSetStep | None:
    """Return what an event does to the open sets; None: it is not wanted.

    `so_far` are the events of each set, needed where a condition reads them. `name` is for a set
    that begins.
    """
    for event_set in known:
        found = _join(wanted, event_set, event, so_far.get(event_set.name, ()), now_ms)
        if found is not None:
            return found
    match = _match(event, {}, now_ms)
    met = match.meets(wanted, [])
    if met is None:
        return None
    fresh = EventSet(name=name, began_ms=now_ms)
    return _add(wanted, fresh, met, match.keys, [event], now_ms)


def _join(
    wanted: EventSelection, event_set: EventSet, event: Event, so_far: Sequence[Event], now_ms: int
) -> EventSetStep | None:
    match = _match(event, event_set.keys, now_ms)
    if isinstance(wanted.until, EventSelection):
        ending = match.meets(wanted.until, event_set.until)
        if ending is not None:
            after = msgspec.structs.replace(event_set, until=ending, keys=match.keys)
            return EventSetStep(after, counted=False, complete=is_enough(wanted.until, ending))
    met = match.meets(wanted, event_set.met)
    if met is None:
        return None
    return _add(wanted, event_set, met, match.keys, [*so_far, event], now_ms)


def _add(
    wanted: EventSelection,
    before: EventSet,
    met: list[int],
    keys: dict[str, Any],
    events: Sequence[Event],
    now_ms: int,
) -> EventSetStep:
    after = msgspec.structs.replace(before, met=met, keys=keys, size=before.size + 1)
    if isinstance(wanted.until, Expression):
        return EventSetStep(after, counted=True, complete=_over(wanted.until, events, now_ms))
    return EventSetStep(
        after, counted=True, complete=wanted.until is None and is_enough(wanted, met)
    )


def _over(until: Expression, events: Sequence[Event], now_ms: int) -> bool:
    """Return whether a condition holds of the events that the run would get."""
    try:
        return until.holds(EvaluationInput(list(events), {}, now_ms))
    except ExpressionError:
        return False  # it may hold when there are more


def _match(event: Event, keys: dict[str, Any], now_ms: int) -> EventMatch:
    return EventMatch(lambda data: EvaluationInput(data, {}, now_ms), None, event, keys)
