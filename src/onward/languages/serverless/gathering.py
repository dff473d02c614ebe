"""Which events start a run together: a pure decision about each event as it comes.

An event goes into the first gathering that wants it, or begins one. So two orders whose events come
mixed start two runs, and no event is lost because another of its kind came first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from onward.errors import ExpressionError
from onward.languages.serverless.matching import Event, Look, enough
from onward.languages.serverless.model import Wanted
from onward.languages.serverless.values import Expression, Given
from onward.ports.gatherings import Gathering


class Step(NamedTuple):
    """What one event does."""

    after: Gathering
    """The gathering that it is in from now on."""
    counted: bool
    """Whether it is one of those that the run gets; otherwise it only ends the gathering."""
    complete: bool


def alone(wanted: Wanted) -> bool:
    """Return whether one event is enough, whichever comes."""
    return wanted.until is None and (not wanted.each or len(wanted.filters) == 1)


def passes(wanted: Wanted, event: Event, now_ms: int) -> bool:
    """Return whether an event is wanted where one is enough."""
    return _look(event, {}, now_ms).meets(wanted, []) is not None


def take(
    wanted: Wanted,
    known: Sequence[Gathering],
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
    fresh = Gathering(name=name, began_ms=now_ms)
    return _counted(wanted, fresh, met, looking.keys, [event], now_ms)


def _join(
    wanted: Wanted, one: Gathering, event: Event, so_far: Sequence[Event], now_ms: int
) -> Step | None:
    looking = _look(event, one.keys, now_ms)
    if isinstance(wanted.until, Wanted):
        ending = looking.meets(wanted.until, one.until)
        if ending is not None:
            after = msgspec.structs.replace(one, until=ending, keys=looking.keys)
            return Step(after, counted=False, complete=enough(wanted.until, ending))
    met = looking.meets(wanted, one.met)
    if met is None:
        return None
    return _counted(wanted, one, met, looking.keys, [*so_far, event], now_ms)


def _counted(
    wanted: Wanted,
    before: Gathering,
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
        return until.holds(Given(list(events), {}, now_ms))
    except ExpressionError:
        return False  # it may hold when there are more


def _look(event: Event, keys: dict[str, Any], now_ms: int) -> Look:
    return Look(lambda data: Given(data, {}, now_ms), None, event, keys)
