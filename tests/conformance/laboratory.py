"""What a scenario needs of the place it is played in: one process, or a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from languages.serverless.lab import Services, Sink
from onward.ports.nodes.commands import CommandKind
from support.harness import Ended

Given = Any
Event = dict[str, Any]


class Timetable(Protocol):
    """A master that starts runs by itself; time passes only when it is told to."""

    starts: list[float]
    """After how many seconds runs have started."""
    inputs: list[Any]
    """What they were given."""

    async def publish(self, source: str) -> None:
        """Publish a document, or the next version of it."""
        ...

    async def tell(self, events: Sequence[Event]) -> None:
        """Let events come from outside, one after another."""
        ...

    async def enable(self, on: bool) -> None:
        """Enable or disable the workflow."""
        ...

    async def has_trigger(self) -> bool:
        """Return whether the workflow has a trigger of its own."""
        ...

    async def pass_by(self, span_ms: int) -> None:
        """Let a time pass."""
        ...


class Laboratory(Protocol):
    """Where workflows run, with time, chance and the outside world in the hands of a scenario."""

    services: Services
    """Who answers calls."""
    heard: Sink
    """Who takes the events that runs emit."""
    others: list[str]
    """Documents of workflows that runs may start."""
    allowed: set[CommandKind]
    """What kinds of processes tasks may start."""

    def now_ms(self) -> int:
        """Return the time."""
        ...

    def keep_secret(self, name: str, fields: dict[str, str]) -> None:
        """Let workflows use a secret."""
        ...

    def load_dice(self, fall: float) -> None:
        """Let dice fall at a number."""
        ...

    def install(self, name: str, script: str) -> None:
        """Put a program where processes find it."""
        ...

    async def run(self, document: str, given: Given) -> Ended:
        """Run a document to its end."""
        ...

    async def run_with_events(self, document: str, given: Given, events: Sequence[Event]) -> Ended:
        """Run a document to its end; events are published as soon as it waits for anything."""
        ...

    async def run_among_deaths(self, document: str, given: Given, events: Sequence[Event]) -> Ended:
        """Do so while the worker dies again and again."""
        ...

    async def run_with_a_pause(self, document: str, given: Given) -> Ended:
        """Run a document that is paused when it waits, once more, and goes on."""
        ...

    async def run_and_cancel(self, document: str, given: Given) -> Ended:
        """Run a document that is cancelled when it waits."""
        ...

    async def places_of(self, text: str) -> list[str]:
        """Return where a text is written: what is kept, sent or logged."""
        ...

    async def keep_events(self) -> None:
        """Tell of the lifecycle of what runs from now on."""
        ...

    async def lifecycle_events(self) -> list[Event]:
        """Return what was told since then."""
        ...

    def timetable(self) -> AbstractAsyncContextManager[Timetable]:
        """Open a master."""
        ...
