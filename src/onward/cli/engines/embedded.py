"""Runs that this process executes itself: what `run`, `continue` and `demo` have in common.

`serve` opens an engine on the file, starts or resumes runs, and returns their results; a signal
becomes a StoppedError. An `Invocation` is the settings of such a command: it chooses the screen
that shows the runs, serves them, and prints their results.
"""

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
from onward.cli import exit_codes
from onward.cli.engines.engine import new_loop
from onward.cli.live.lines import LineScreen, SilentScreen
from onward.cli.options import check_env_file
from onward.cli.output.console import print_json, print_pretty, say
from onward.cli.output.event_lines import EventLines
from onward.cli.output.run_result import (
    Result,
    exit_code,
    how_to_continue,
    print_result,
    result_of,
    summary_of,
)
from onward.errors import DocumentProblem
from onward.kernel.messages import NodeStatusMessage, RunMessage
from onward.languages.graph.model import Document
from onward.ports.nodes.commands import CommandKind
from onward.runtime.embedded.engine import EmbeddedEngine

Begin = Callable[[EmbeddedEngine], Awaitable[Sequence[str]]]
"""Start or resume runs, and return their ids."""
Past = Callable[[], Iterable[NodeStatusMessage]]
"""Return what happened in the runs before this process resumed them."""


class Screen(AbstractAsyncContextManager["Screen", None], Protocol):
    """Shows people what happens, from when it is entered until it is left."""

    def observe(self, message: RunMessage) -> None:
        """Take note of one message. Called for each of them: this must cost next to nothing."""
        ...


class StoppedError(Exception):
    """A signal stopped the runs. Everything committed is safe, and `continue` resumes it."""

    def __init__(self, code: int, run_ids: Sequence[str]) -> None:
        self.code = code
        self.run_ids = tuple(run_ids)
        super().__init__("stopped")


@dataclass(slots=True)
class _RunServer:
    settings: EmbeddedSettings
    begin: Begin
    screen: Screen
    events: EventLines | None
    seen: dict[str, None] = field(default_factory=dict)
    """The runs that are known to be committed: those to name when a signal stops them."""

    async def results(self) -> list[Result]:
        this = asyncio.current_task()
        if this is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
        observers = [self._note, self.screen.observe]
        if self.events is not None:
            observers.append(self.events.observe)
        async with open_engine(self.settings, observe=observers) as engine, self.screen:
            run_ids = await self.begin(engine)
            self.seen.update(dict.fromkeys(run_ids))
            messages = [await engine.wait(run_id) for run_id in run_ids]
            return [result_of(message, engine.context_of(message)) for message in messages]

    def _note(self, message: RunMessage) -> None:
        self.seen[message.execution_id] = None


def serve(
    settings: EmbeddedSettings, begin: Begin, screen: Screen, events: EventLines | None
) -> list[Result]:
    """Start or resume runs and return their results; StoppedError when a signal came first."""
    server = _RunServer(settings, begin, screen, events)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(server.results())
    except KeyboardInterrupt:
        raise StoppedError(exit_codes.INTERRUPTED, tuple(server.seen)) from None
    except asyncio.CancelledError:
        raise StoppedError(exit_codes.TERMINATED, tuple(server.seen)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The settings of one command that executes runs."""

    settings: EmbeddedSettings
    as_json: bool = False
    events: str | None = None
    quiet: bool = False
    verbose: bool = False
    log_level: str = "info"

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
                "--json and --events - both write to standard output: give --events a file"
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

    def warn(self, warnings: Sequence[DocumentProblem], file: str) -> None:
        """Print the warnings about a document that can run."""
        if not self.quiet:
            for problem in warnings:
                say(problem.describe(file))

    def serve(
        self, begin: Begin, documents: Sequence[Document], past: Past = tuple
    ) -> list[Result]:
        """Serve runs to their end; when stopped, print how to continue them and exit.

        `past` is only called when there is a drawing to complete.
        """
        events = EventLines(self.events) if self.events is not None else None
        configure_log(level=self.log_level)
        try:
            return serve(self.settings, begin, self.screen(documents, past), events)
        except StoppedError as stopped:
            say(how_to_continue(stopped.run_ids, self.settings.database))
            raise click.exceptions.Exit(stopped.code) from None

    def screen(self, documents: Sequence[Document], past: Past = tuple) -> Screen:
        """Return the screen that shows the runs of these documents."""
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
        for message in past():
            picture.see(message)
        return LiveScreen(console, picture, self.log_level)

    def answer_one(self, result: Result, document: Document | None, file: str = "") -> int:
        """Print the result of a run, and return its exit code."""
        if self.events != "-":
            print_result(result, as_json=self.as_json)
        self._summarise(result, document, file)
        return exit_code(result)

    def answer_all(self, results: Sequence[Result]) -> int:
        """Print the results of several runs, and return the exit code of all of them."""
        if self.as_json:
            print_json(results)
        elif self.events != "-":
            print_pretty({result.execution_id: result.output for result in results})
        for result in results:
            self._summarise(result, None, "")
        return max(map(exit_code, results), default=exit_codes.OK)

    def _summarise(self, result: Result, document: Document | None, file: str) -> None:
        """Print how a run ended, unless --json has printed that it succeeded."""
        if (self.quiet or self.as_json) and result.status == "completed":
            return
        say(summary_of(result, self.settings.database, document=document, file=file))
