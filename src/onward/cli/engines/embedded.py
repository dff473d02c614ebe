"""What `run`, `resume` and `demo` have in common: how runs are served, shown and answered for."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import click

from onward.bootstrap.embedded import EmbeddedSettings, open_engine
from onward.bootstrap.host import configure_log
from onward.cli.live.lines import LineScreen, SilentScreen
from onward.cli.options import check_env_file
from onward.cli.output.event_lines import EventLines
from onward.cli.output.run_result import (
    Result,
    exit_code,
    how_to_go_on,
    print_json,
    print_pretty,
    print_result,
    result_of,
    say,
    story,
)
from onward.errors import DocumentProblem
from onward.kernel.messages import NodeStatusMessage, RunMessage
from onward.languages.graph.model import Document
from onward.ports.nodes.commands import CommandKind
from onward.runtime.embedded.engine import EmbeddedEngine

# -- Serving runs from the command line: an engine, somebody who watches, and a clean way to stop.


Begin = Callable[[EmbeddedEngine], Awaitable[Sequence[str]]]
"""Start or take up runs, and return their ids."""


class Screen(AbstractAsyncContextManager["Screen", None], Protocol):
    """Shows people what happens, from when it is entered until it is left."""

    def observe(self, news: RunMessage) -> None:
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
    settings: EmbeddedSettings
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

    def _note(self, news: RunMessage) -> None:
        self.seen[news.execution_id] = None


def serve(
    settings: EmbeddedSettings, begin: Begin, screen: Screen, events: EventLines | None
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


Past = Callable[[], Iterable[NodeStatusMessage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The settings of one command that serves runs."""

    settings: EmbeddedSettings
    as_json: bool
    events: str | None
    quiet: bool
    verbose: bool
    log_level: str

    @classmethod
    def of(
        cls,
        *,
        database: Path,
        as_json: bool,
        events: str | None,
        slots: int,
        env_file: Path | None,
        credential_store: Path,
        key_file: Path,
        allowed: tuple[CommandKind, ...],
        events_sink: str,
        public_url: str,
        quiet: bool,
        verbose: bool,
        log_level: str | None,
    ) -> Self:
        """Return the invocation that the options describe; UsageError when they do not agree."""
        if as_json and events == "-":
            raise click.UsageError(
                "--json and --events - both want the standard output: give --events a file"
            )
        check_env_file(env_file)
        return cls(
            settings=EmbeddedSettings(
                database,
                slots,
                env_file,
                credential_store,
                key_file,
                events_sink,
                allowed,
                public_url=public_url,
            ),
            as_json=as_json,
            events=events,
            quiet=quiet,
            verbose=verbose,
            log_level=log_level or ("warning" if quiet else "info"),
        )

    @classmethod
    def of_demo(cls, database: Path) -> Self:
        """Return a invocation without options: drawn on a terminal, plain lines elsewhere."""
        return cls(
            settings=EmbeddedSettings(database),
            as_json=False,
            events=None,
            quiet=False,
            verbose=not sys.stderr.isatty(),
            log_level="info",
        )

    def warn(self, warnings: Sequence[DocumentProblem], file: str) -> None:
        """Show what an author should know about a document that can run."""
        if not self.quiet:
            for problem in warnings:
                say(problem.describe(file))

    def serve(
        self, begin: Begin, documents: Sequence[Document], past: Past = tuple
    ) -> list[Result]:
        """Serve runs to their end; when stopped, say how to go on and exit.

        `past` gives what happened before, and is only asked when somebody watches.
        """
        events = EventLines(self.events) if self.events is not None else None
        configure_log(level=self.log_level)
        try:
            return serve(self.settings, begin, self.screen(documents, past), events)
        except StoppedError as stopped:
            say(how_to_go_on(stopped.runs, self.settings.database))
            raise click.exceptions.Exit(stopped.code) from None

    def screen(self, documents: Sequence[Document], past: Past = tuple) -> Screen:
        """Return what shows the runs of these documents."""
        if self.verbose:
            return LineScreen()
        if self.quiet or self.as_json or not sys.stderr.isatty():
            return SilentScreen()
        from rich.console import Console

        from onward.cli.live.screen import LiveScreen, picture_of

        console = Console(stderr=True)
        if console.is_dumb_terminal:
            return SilentScreen()
        picture = picture_of(documents)
        for news in past():
            picture.see(news)
        return LiveScreen(console, picture, self.log_level)

    def answer_one(self, result: Result, document: Document | None, file: str = "") -> int:
        """Print the result of a run, and return the exit code it means."""
        if self.events != "-":
            print_result(result, as_json=self.as_json)
        self._tell(result, document, file)
        return exit_code(result)

    def answer_all(self, results: Sequence[Result]) -> int:
        """Print the results of several runs, and return the exit code they mean together."""
        if self.as_json:
            print_json(results)
        elif self.events != "-":
            print_pretty({result.execution_id: result.output for result in results})
        for result in results:
            self._tell(result, None, "")
        return 0 if all(result.status == "completed" for result in results) else 1

    def _tell(self, result: Result, document: Document | None, file: str) -> None:
        """Say how a run ended. With --json and success there is nothing to add to the result."""
        done = result.status == "completed"
        if (self.quiet or self.as_json) and done:
            return
        say(story(result, self.settings.database, document=document, file=file))
