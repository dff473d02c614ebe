"""What a command says about a run that has ended: the result for programs, the story for people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from onward.cli.input.documents import line_of
from onward.cli.options import DEFAULT_DATABASE
from onward.cli.output.durations import seconds
from onward.kernel.messages import CompletionMessage, Ending
from onward.languages.graph.model import Document

# -- What a run came to, whole: the object that programs read.


_PROBLEM = ("type", "status", "title", "detail", "instance")


class RunError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run did not complete, and at which node; no node when none is to blame.

    An error of the Serverless Workflow DSL also has the fields of RFC 7807.
    """

    message: str
    code: str
    details: dict[str, Any]
    node: str | None
    type: str | msgspec.UnsetType = msgspec.UNSET
    status: int | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    detail: str | msgspec.UnsetType = msgspec.UNSET
    instance: str | msgspec.UnsetType = msgspec.UNSET


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The ending of one run, with every value in it rather than a reference."""

    execution_id: str
    workflow_id: str
    status: Ending
    output: Any
    context: Mapping[str, Any]
    error: RunError | None
    duration_ms: int


def result_of(message: CompletionMessage, context: Mapping[str, Any]) -> Result:
    """Return the result of a run that ended with `message`; `context` is its whole final context.

    The output is that of the node the run ended at. When it ended at several, it is an object with
    the output of each; null unless the run completed.
    """
    outputs = {node: context.get(f"${node}") for node in message.output_nodes}
    output: Any = outputs
    if message.status != "completed" or not outputs:
        output = None
    elif len(outputs) == 1:
        (output,) = outputs.values()
    return Result(
        execution_id=message.execution_id,
        workflow_id=message.workflow_id,
        status=message.status,
        output=output,
        context=context,
        error=error_of(message),
        duration_ms=message.total_duration_ms,
    )


def error_of(message: CompletionMessage) -> RunError | None:
    """Return why the run did not complete; None when it did."""
    error = message.error
    if error is None:
        return None
    problem = {"type", "status"} <= error.details.keys()
    fields = {name: error.details[name] for name in _PROBLEM if problem and name in error.details}
    return RunError(
        message=error.message,
        code=error.code,
        details=error.details,
        node=message.failed_node or None,
        **fields,
    )


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
