"""What `run`, `resume` and `demo` have in common: how runs are served, shown and answered for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import click

from onward.bootstrap import Settings, configure_log
from onward.cli.answers import (
    exit_code,
    how_to_go_on,
    print_json,
    print_pretty,
    print_result,
    say,
    story,
)
from onward.cli.events import EventLines
from onward.cli.options import check_env_file
from onward.cli.screens import Lines, Silent
from onward.cli.serving import Begin, Screen, StoppedError, serve
from onward.errors import Problem
from onward.kernel.messages import NodeStatusMessage
from onward.languages.graph.model import Document
from onward.ports.commands import CommandKind
from onward.runtime.result import Result

Past = Callable[[], Iterable[NodeStatusMessage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The settings of one command that serves runs."""

    settings: Settings
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
            settings=Settings(
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
            settings=Settings(database),
            as_json=False,
            events=None,
            quiet=False,
            verbose=not sys.stderr.isatty(),
            log_level="info",
        )

    def warn(self, warnings: Sequence[Problem], file: str) -> None:
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
            return Lines()
        if self.quiet or self.as_json or not sys.stderr.isatty():
            return Silent()
        from rich.console import Console

        from onward.cli.live import LiveScreen, picture_of

        console = Console(stderr=True)
        if console.is_dumb_terminal:
            return Silent()
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
            print_pretty({one.execution_id: one.output for one in results})
        for result in results:
            self._tell(result, None, "")
        return 0 if all(one.status == "completed" for one in results) else 1

    def _tell(self, result: Result, document: Document | None, file: str) -> None:
        """Say how a run ended. With --json and success there is nothing to add to the result."""
        done = result.status == "completed"
        if (self.quiet or self.as_json) and done:
            return
        say(story(result, self.settings.database, document=document, file=file))
