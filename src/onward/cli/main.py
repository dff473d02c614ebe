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

import click

from onward import __version__
from onward.cli.lazy import LazyGroup
from onward.cli.options import examples
from onward.errors import DefinitionError, OnwardError

FAILED = 1
USAGE = 2
INVALID = 3
BUG = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

_COMMANDS = {
    "run": ("onward.cli.run:run", "Run a workflow and show its result."),
    "validate": ("onward.cli.validate:validate", "Check documents and list every problem."),
    "resume": ("onward.cli.resume:resume", "Continue runs that were interrupted."),
    "runs": ("onward.cli.runs:runs", "List runs, look closer at one, start and control them."),
    "workflows": ("onward.cli.workflows:workflows", "Keep workflows and their versions."),
    "approvals": ("onward.cli.approvals:approvals", "Decide what runs ask people."),
    "triggers": ("onward.cli.triggers:triggers", "Let runs start by themselves."),
    "events": ("onward.cli.all_events:events", "Follow what happens in all runs."),
    "dev": ("onward.cli.dev:dev", "Serve the API and run workflows in one process."),
    "submit": ("onward.cli.submit:submit", "Start a run on a cluster."),
    "worker": ("onward.cli.worker:worker", "Execute the nodes of runs on a cluster."),
    "scheduler": ("onward.cli.scheduler:scheduler", "Wake what waits on a cluster."),
    "master": ("onward.cli.master:master", "Keep the history of runs on a cluster."),
    "doctor": ("onward.cli.doctor:doctor", "Find what is wrong with the machine or a cluster."),
    "explain": ("onward.cli.explain:explain", "Say what a run waits for."),
    "repair": ("onward.cli.repair:repair", "Rebuild a run from its history."),
    "queue": ("onward.cli.operations:queue", "List queues and how much waits in them."),
    "workers": ("onward.cli.operations:workers", "List who executes nodes."),
    "timers": ("onward.cli.operations:timers", "List the timers that are due first."),
    "stats": ("onward.cli.operations:stats", "Count runs by workflow and status."),
    "quarantine": ("onward.cli.quarantine:quarantine", "Decide about messages put aside."),
    "graph": ("onward.cli.graph:graph", "Draw a workflow as Mermaid text or SVG."),
    "convert": ("onward.cli.convert:convert", "Show a Serverless Workflow as a graph picture."),
    "nodes": ("onward.cli.nodes:nodes", "List the node types, or explain one."),
    "expr": ("onward.cli.expr:expr", "Evaluate an expression, on your data or a run's."),
    "simulate": ("onward.cli.simulate:simulate", "Run workflows under crashes and duplicates."),
    "users": ("onward.cli.users:users", "Say who may log in to the API."),
    "tokens": ("onward.cli.tokens:tokens", "Make and revoke tokens for the API."),
    "credentials": ("onward.cli.credentials:credentials", "Keep the secrets that workflows name."),
    "audit": ("onward.cli.audit:audit", "List who changed what."),
    "whoami": ("onward.cli.operations:whoami", "Say who you are to a server."),
    "messages": ("onward.cli.messages:messages", "Print the JSON Schemas of the messages."),
    "completion": ("onward.cli.completion:completion", "Print the completion script of a shell."),
    "demo": ("onward.cli.demo:demo", "Watch a fan-out of 200 items run in the terminal."),
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
