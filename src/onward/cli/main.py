"""The command `onward`: its subcommands, and the one place that turns errors into exit codes.

`exit_codes` lists the codes. Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from onward import __version__
from onward.cli import exit_codes
from onward.cli.options import examples
from onward.errors import DefinitionError, OnwardError

_COMMANDS = {
    "run": ("run:run", "Run a workflow and print its output."),
    "validate": ("validate:validate", "Check workflow documents and list every problem."),
    "continue": ("interrupted_runs:continue_runs", "Continue runs that were interrupted."),
    "runs": ("runs.group:runs", "List, start, inspect and control runs."),
    "explain": ("runs.explain:explain", "Explain what a run is waiting for."),
    "workflows": ("workflows.group:workflows", "Manage workflows and their versions."),
    "approvals": ("approvals:approvals", "List pending approvals, approve or reject them."),
    "triggers": ("triggers.group:triggers", "Start runs on a schedule, by webhook or by event."),
    "events": ("events:events", "Follow the events of all runs, or emit one."),
    "dev": ("dev:dev", "Serve the API and execute workflows in one process."),
    "submit": ("submit:submit", "Start a run on a cluster."),
    "worker": ("worker:worker", "Execute nodes on a cluster."),
    "scheduler": ("scheduler:scheduler", "Send due timers on a cluster."),
    "master": ("master:master", "Record history, fire triggers and serve the API of a cluster."),
    "doctor": ("doctor:doctor", "Diagnose this machine and the services of a cluster."),
    "repair": ("repair:repair", "Rebuild a run on a cluster from its history."),
    "queue": ("operations:queue", "List the queues and their lengths."),
    "workers": ("operations:workers", "List the workers."),
    "timers": ("operations:timers", "List the next timers."),
    "stats": ("operations:stats", "Count runs by workflow and status."),
    "quarantine": ("quarantine:quarantine", "Inspect, release or discard failed messages."),
    "graph": ("graph:graph", "Draw a workflow as Mermaid text or SVG."),
    "convert": ("graph:convert", "Draw a Serverless Workflow document as a graph."),
    "nodes": ("nodes:nodes", "List the node types, or describe one."),
    "expr": ("expr:expr", "Evaluate an expression, on your data or on a run's."),
    "simulate": ("simulate:simulate", "Test workflows under crashes and duplicate messages."),
    "users": ("users:users", "Manage the users of the API."),
    "tokens": ("tokens:tokens", "Create and revoke API tokens."),
    "credentials": ("credentials.file_store:credentials", "Store the secrets of workflows."),
    "audit": ("audit:audit", "List the audit log: who changed what."),
    "whoami": ("operations:whoami", "Print your name and role on a server."),
    "messages": ("messages:messages", "Print the JSON Schemas of the messages."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
    "demo": ("demo:demo", "Watch a fan-out of 200 items in the terminal."),
}
"""Name -> where in `onward.cli.commands` the command is, and its one-line help."""


class LazyGroup(click.Group):
    """Commands that are imported when they are called: help and completion need only the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which people need them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command called `cmd_name`; None when there is none."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"onward.cli.commands.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with, or fail with a suggestion."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            raise click.NoSuchCommand(name, possibilities=_COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in _COMMANDS.items()])


onward = click.version_option(__version__, message="onward %(version)s")(
    LazyGroup(
        name="onward",
        help="Run workflows durably: never stuck, doubled or lost.",
        epilog=examples("onward run workflow.yaml -i name=Ada", "onward validate workflows/"),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code."""
    _buffer_output()
    code = _run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _discard_output()
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = onward.main(list(arguments), prog_name="onward", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except DefinitionError as problem:
        click.echo(str(problem), err=True)
        return exit_codes.INVALID
    except OnwardError as problem:
        click.echo(f"Error: {problem}", err=True)
        return exit_codes.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return exit_codes.INTERRUPTED
    except SystemExit as ending:
        # click leaves this way when a pipe broke, and after shell completion.
        completing = "_ONWARD_COMPLETE" in os.environ
        return int(ending.code or 0) if completing else _discard_output()
    except Exception as problem:
        return _report_bug(problem)
    return code if isinstance(code, int) else exit_codes.OK


def _buffer_output() -> None:
    """Buffer standard output, also where Python is told not to.

    A pipe may take only a part of a large write when a signal arrives in between; without a buffer
    the rest is never written.
    """
    out = sys.stdout
    ours, raw = out is sys.__stdout__, getattr(out, "buffer", None)
    if ours and isinstance(raw, io.RawIOBase):
        whole = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(whole, out.encoding, out.errors, line_buffering=True)


def _discard_output() -> int:
    """The reader has gone: print nothing more, also not when Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exit_codes.BROKEN_PIPE


def _report_bug(problem: Exception) -> int:
    if os.environ.get("ONWARD_DEBUG"):
        raise problem
    text = str(problem).splitlines()
    what = f"{type(problem).__name__}: {text[0]}" if text else type(problem).__name__
    click.echo(
        f"internal error: {what}\n"
        "This is a bug in onward. Run the same command with ONWARD_DEBUG=1 and report what it"
        f" prints, with the version ({__version__}) and the document if you can share it.",
        err=True,
    )
    return exit_codes.BUG
