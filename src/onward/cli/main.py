"""The command `onward`: its subcommands, and the one place that turns errors into exit codes.

    0    done: the run completed, the documents are valid
    1    the run failed or was halted; a simulation found a fault
    2    wrong usage, unreadable file or input, unusable database
    3    a document is invalid
    4    not logged in, or not allowed
    5    there is no such thing, or it cannot be done in the state it is in
    6    the time to wait for a run was over; the run goes on
    7    a service of the cluster cannot be reached or will not do
    70   a bug in onward
    130  interrupted (143: asked to end)
    141  whoever read the output went away

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from onward import __version__
from onward.cli.options import examples
from onward.errors import DefinitionError, OnwardError

# -- A command group that imports a command only when it is used: help and completion stay instant.


class LazyGroup(click.Group):
    """Commands by name, each with its place (`module:attribute`) and its one-line help."""

    def __init__(self, *, lazy: dict[str, tuple[str, str]], **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # click's own settings, unchanged
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which people need them."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command called `cmd_name`; None when there is none."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with, or fail with the one that was probably meant."""
        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            raise click.NoSuchCommand(name, possibilities=self._lazy, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in self._lazy.items()])


FAILED = 1
USAGE = 2
INVALID = 3
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

_COMMANDS = {
    "run": ("onward.cli.commands.run:run", "Run a workflow and show its result."),
    "validate": (
        "onward.cli.commands.validate:validate",
        "Check documents and list every problem.",
    ),
    "resume": ("onward.cli.commands.resume:resume", "Continue runs that were interrupted."),
    "runs": (
        "onward.cli.commands.runs.group:runs",
        "List runs, look closer at one, start and control them.",
    ),
    "workflows": (
        "onward.cli.commands.workflows.group:workflows",
        "Keep workflows and their versions.",
    ),
    "approvals": ("onward.cli.commands.approvals:approvals", "Decide what runs ask people."),
    "triggers": ("onward.cli.commands.triggers.group:triggers", "Let runs start by themselves."),
    "events": ("onward.cli.commands.events:events", "Follow what happens in all runs."),
    "dev": ("onward.cli.commands.dev:dev", "Serve the API and run workflows in one process."),
    "submit": ("onward.cli.commands.submit:submit", "Start a run on a cluster."),
    "worker": ("onward.cli.commands.worker:worker", "Execute the nodes of runs on a cluster."),
    "scheduler": ("onward.cli.commands.scheduler:scheduler", "Wake what waits on a cluster."),
    "master": ("onward.cli.commands.master:master", "Keep the history of runs on a cluster."),
    "doctor": (
        "onward.cli.commands.doctor:doctor",
        "Find what is wrong with the machine or a cluster.",
    ),
    "explain": ("onward.cli.commands.explain:explain", "Say what a run waits for."),
    "repair": ("onward.cli.commands.repair:repair", "Rebuild a run from its history."),
    "queue": ("onward.cli.commands.operations:queue", "List queues and how much waits in them."),
    "workers": ("onward.cli.commands.operations:workers", "List who executes nodes."),
    "timers": ("onward.cli.commands.operations:timers", "List the timers that are due first."),
    "stats": ("onward.cli.commands.operations:stats", "Count runs by workflow and status."),
    "quarantine": ("onward.cli.commands.quarantine:quarantine", "Decide about messages put aside."),
    "graph": ("onward.cli.commands.graph:graph", "Draw a workflow as Mermaid text or SVG."),
    "convert": (
        "onward.cli.commands.graph:convert",
        "Show a Serverless Workflow as a graph picture.",
    ),
    "nodes": ("onward.cli.commands.nodes:nodes", "List the node types, or explain one."),
    "expr": ("onward.cli.commands.expr:expr", "Evaluate an expression, on your data or a run's."),
    "simulate": (
        "onward.cli.commands.simulate:simulate",
        "Run workflows under crashes and duplicates.",
    ),
    "users": ("onward.cli.commands.users:users", "Say who may log in to the API."),
    "tokens": ("onward.cli.commands.tokens:tokens", "Make and revoke tokens for the API."),
    "credentials": (
        "onward.cli.commands.credentials.file_store:credentials",
        "Keep the secrets that workflows name.",
    ),
    "audit": ("onward.cli.commands.audit:audit", "List who changed what."),
    "whoami": ("onward.cli.commands.operations:whoami", "Say who you are to a server."),
    "messages": (
        "onward.cli.commands.messages:messages",
        "Print the JSON Schemas of the messages.",
    ),
    "completion": (
        "onward.cli.commands.completion:completion",
        "Print the completion script of a shell.",
    ),
    "demo": ("onward.cli.commands.demo:demo", "Watch a fan-out of 200 items run in the terminal."),
}

onward = click.version_option(__version__, message="onward %(version)s")(
    LazyGroup(
        name="onward",
        lazy=_COMMANDS,
        help="Run workflows durably: never stuck, doubled or lost.",
        epilog=examples("onward run workflow.yaml -i name=Ada", "onward validate workflows/"),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code."""
    _write_all()
    code = _run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _gone()
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = onward.main(list(arguments), prog_name="onward", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except DefinitionError as problem:
        click.echo(str(problem), err=True)
        return INVALID
    except OnwardError as problem:
        click.echo(f"Error: {problem}", err=True)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except SystemExit as ending:
        # click leaves this way when a pipe broke, and after shell completion.
        completing = "_ONWARD_COMPLETE" in os.environ
        return int(ending.code or 0) if completing else _gone()
    except Exception as problem:
        return _bug(problem)
    return code if isinstance(code, int) else 0


def _write_all() -> None:
    """Let what is printed be written whole, also where Python is told not to buffer.

    A pipe may take only a part of a large write, when a signal comes in between; without a buffer
    nobody writes the rest.
    """
    out = sys.stdout
    ours, raw = out is sys.__stdout__, getattr(out, "buffer", None)
    if ours and isinstance(raw, io.RawIOBase):
        whole = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(whole, out.encoding, out.errors, line_buffering=True)


def _gone() -> int:
    """Nobody reads the output any more: say nothing, also not when Python flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _bug(problem: Exception) -> int:
    if os.environ.get("ONWARD_DEBUG"):
        raise problem
    text = str(problem).splitlines()
    what = f"{type(problem).__name__}: {text[0]}" if text else type(problem).__name__
    click.echo(
        f"internal error: {what}\n"
        "This is a bug in onward. Run the same command with ONWARD_DEBUG=1 and report what it "
        "prints,"
        f" with the version ({__version__}) and the document if you can share it.",
        err=True,
    )
    return BUG
