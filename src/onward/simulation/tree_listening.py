"""Which events a listen of the oracle for trees takes, and when it has heard enough."""

from __future__ import annotations

from typing import Protocol

from onward.languages.serverless.model import EventFilter, Wanted


class Named(Protocol):
    """An event, as far as it matters here: random plans tell events apart by their types."""

    @property
    def name(self) -> str:
        """Its type."""
        ...


class Ear:
    """What one visit to a listen has heard so far."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._met: list[EventFilter] = []
        self._last = wanted.until if isinstance(wanted.until, Wanted) else None
        filters = (*wanted.filters, *(self._last.filters if self._last else ()))
        self.types = frozenset(one.event_type for one in filters)
        """The types that are looked at; what a listen cannot want never comes to it."""

    def stops(self, event: Named) -> bool:
        """Return whether this event ends it, and is itself not taken."""
        return self._last is not None and any(
            one.event_type == event.name for one in self._last.filters
        )

    def takes(self, event: Named) -> bool:
        """Return whether this event is taken; of `all`, each filter takes one."""
        for one in self._wanted.filters:
            if one.event_type == event.name and not (self._wanted.each and one in self._met):
                self._met.append(one)
                return True
        return False

    def enough(self) -> bool:
        """Return whether nothing more is wanted; with `until` that is said elsewhere."""
        if self._wanted.until is not None:
            return False
        return len(self._met) >= (len(self._wanted.filters) if self._wanted.each else 1)
