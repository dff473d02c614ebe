"""Events held against what is wanted: filters, and what correlated events agree in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from onward.errors import ExpressionError
from onward.languages.serverless.model import Attribute, EventFilter, Wanted
from onward.languages.serverless.values import Given

Event = Mapping[str, Any]


def types_of(wanted: Wanted) -> set[str]:
    """Return the types of events that can be wanted; only "" if it can be any."""
    found = {one.event_type for one in _filters(wanted)}
    anything = not wanted.filters or (isinstance(wanted.until, Wanted) and not wanted.until.filters)
    return {""} if anything or "" in found else found


def _filters(wanted: Wanted) -> Iterator[EventFilter]:
    yield from wanted.filters
    if isinstance(wanted.until, Wanted):
        yield from _filters(wanted.until)


def enough(wanted: Wanted, met: list[int]) -> bool:
    """Return whether what is met is all that is wanted."""
    return len(met) >= (len(wanted.filters) if wanted.each else 1)


class Look:
    """One event, held against filters. `keys`: what correlated events have agreed in so far."""

    def __init__(
        self,
        given: Callable[[Any], Given],
        expecting: Any,
        event: Event,
        keys: dict[str, Any],
    ) -> None:
        """`given` makes what expressions work on; `expecting` is the data of `expect`."""
        self._given = given
        self._expecting = expecting
        self._event = event
        self.keys = keys

    def meets(self, wanted: Wanted, met: list[int]) -> list[int] | None:
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
            if not all(self._fits(one) for one in wanted.attributes):
                return None
            keys = self.keys
            for one in wanted.correlations:
                found = one.value.evaluate(self._given(self._event))
                if found is None:
                    return None
                expected = keys.get(one.name, found)
                if one.expected is not None:
                    expected = one.expected.render(self._given(self._expecting))
                if expected != found:
                    return None
                keys = {**keys, one.name: found}
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
