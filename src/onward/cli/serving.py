"""Serving runs from the command line: an engine, somebody who watches, and a clean way to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from onward.bootstrap import Settings, open_engine
from onward.cli.events import EventLines
from onward.runtime.engine import Engine
from onward.runtime.gathered import News
from onward.runtime.result import Result, result_of

Begin = Callable[[Engine], Awaitable[Sequence[str]]]
"""Start or take up runs, and return their ids."""


class Screen(AbstractAsyncContextManager["Screen", None], Protocol):
    """Shows people what happens, from when it is entered until it is left."""

    def observe(self, news: News) -> None:
        """Take note of one message. Called for each of them: this must cost next to nothing."""
        ...


class StoppedError(Exception):
    """Somebody asked to stop. Everything committed is safe, and `resume` continues it."""

    def __init__(self, code: int, runs: Sequence[str]) -> None:
        self.code = code
        self.runs = tuple(runs)
        super().__init__("stopped")


@dataclass(slots=True)
class _Serving:
    settings: Settings
    begin: Begin
    screen: Screen
    events: EventLines | None
    seen: dict[str, None] = field(default_factory=dict)
    """The runs that are known to be committed: what is said when somebody stops us."""

    async def results(self) -> list[Result]:
        this = asyncio.current_task()
        if this is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
        observers = [self._note, self.screen.observe]
        if self.events is not None:
            observers.append(self.events.observe)
        async with open_engine(self.settings, observe=observers) as engine, self.screen:
            runs = await self.begin(engine)
            self.seen.update(dict.fromkeys(runs))
            messages = [await engine.wait(run) for run in runs]
            return [result_of(message, engine.context_of(message)) for message in messages]

    def _note(self, news: News) -> None:
        self.seen[news.execution_id] = None


def serve(
    settings: Settings, begin: Begin, screen: Screen, events: EventLines | None
) -> list[Result]:
    """Begin runs and return how each ended; StoppedError when a signal came first."""
    serving = _Serving(settings, begin, screen, events)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(serving.results())
    except KeyboardInterrupt:
        raise StoppedError(130, tuple(serving.seen)) from None
    except asyncio.CancelledError:
        raise StoppedError(143, tuple(serving.seen)) from None


def new_loop() -> asyncio.AbstractEventLoop:
    """Return the fastest event loop that is installed."""
    try:
        import uvloop
    except ImportError:  # an extra: everything works without, only slower
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
