"""What a command says about a run that has ended: the result for programs, the story for people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from onward.cli.durations import seconds
from onward.cli.options import DEFAULT_DATABASE
from onward.cli.sources import line_of
from onward.languages.graph.model import Document
from onward.runtime.result import Result


def print_json(value: Any) -> None:
    """Write `value` to standard output as one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def print_pretty(value: Any) -> None:
    """Write `value` to standard output as JSON for people."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def print_result(result: Result, *, as_json: bool) -> None:
    """Write the result of a run to standard output: all of it, or the output if there is one."""
    if as_json:
        print_json(result)
    elif result.status == "completed":
        print_pretty(result.output)


def exit_code(result: Result) -> int:
    """Return what a command ends with that served one run to its end."""
    return 0 if result.status == "completed" else 1


def command(*words: str, database: Path) -> str:
    """Return an onward command that the reader can paste, on the same database."""
    where = () if database == DEFAULT_DATABASE else ("--db", str(database))
    return shlex.join(("onward", *words, *where))


def story(
    result: Result, database: Path | None, *, document: Document | None = None, file: str = ""
) -> str:
    """Return how a run ended: one line, or after a failure where, why and what to do next.

    `database` is the file to look closer at, if the run is in one.
    """
    word = "in" if result.status == "completed" else "after"
    head = f"{result.status} {word} {seconds(result.duration_ms)}: {result.execution_id}"
    if result.error is None:
        return head
    lines = [head]
    if result.error.node is not None:
        lines.append(f"  node   {_place(result.error.node, document, file)}")
    lines.append(f"  error  {result.error.message} [{result.error.code}]")
    if database is not None:
        look = command("runs", "show", result.execution_id, database=database)
        lines.append(f"  look closer: {look}")
    return "\n".join(lines)


def _place(node: str, document: Document | None, file: str) -> str:
    if document is None:
        return node
    name = next((one.name for one in document.nodes if one.id == node), "")
    line = line_of(document, node) if file else None
    named = f"{node} ({name})" if name not in ("", node) else node
    return f"{named}, {file}:{line}" if line is not None else named


def how_to_go_on(runs: Sequence[str], database: Path) -> str:
    """Return what a person reads after stopping runs."""
    return f"stopped; nothing is lost. Continue with: {command('resume', *runs, database=database)}"


def say(text: str) -> None:
    """Write a line for people to standard error."""
    click.echo(text, err=True)
