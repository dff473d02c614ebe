"""The result of a run: the whole object for programs, the output and a summary for people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from onward.cli import exit_codes
from onward.cli.options import DEFAULT_DATABASE
from onward.cli.output.console import print_json, print_pretty
from onward.cli.output.durations import seconds
from onward.kernel.messages import CompletionMessage, Ending

if TYPE_CHECKING:
    from onward.languages.graph.model import Document

_PROBLEM_FIELDS = ("type", "status", "title", "detail", "instance")


# -- results ---------------------------------------------------------------------------------------


class RunError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run did not complete, and at which node; no node when none caused it.

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
    details = error.details
    is_problem = {"type", "status"} <= details.keys()
    names = [name for name in _PROBLEM_FIELDS if is_problem and name in details]
    return RunError(
        message=error.message,
        code=error.code,
        details=error.details,
        node=message.failed_node or None,
        **{name: details[name] for name in names},
    )


# -- printing --------------------------------------------------------------------------------------


def print_result(result: Result, *, as_json: bool) -> None:
    """Write the result of a run to standard output: as JSON, or the output of a completed run."""
    if as_json:
        print_json(result)
    elif result.status == "completed":
        print_pretty(result.output)


def exit_code(result: Result) -> int:
    """Return the exit code for the result of one run."""
    return exit_codes.OK if result.status == "completed" else exit_codes.FAILED


def command(*words: str, database: Path) -> str:
    """Return an onward command to paste, on the same database."""
    where = () if database == DEFAULT_DATABASE else ("--db", str(database))
    return shlex.join(("onward", *words, *where))


def summary_of(
    result: Result, database: Path | None, *, document: Document | None = None, file: str = ""
) -> str:
    """Return how a run ended: one line, or after a failure where, why and what to do next.

    `database` is the file of the run, if it is in one.
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
        details = command("runs", "show", result.execution_id, database=database)
        lines.append(f"  details: {details}")
    return "\n".join(lines)


def _place(node_id: str, document: Document | None, file: str) -> str:
    if document is None:
        return node_id
    from onward.cli.input.documents import line_of

    name = next((node.name for node in document.nodes if node.id == node_id), "")
    line = line_of(document, node_id) if file else None
    label = f"{node_id} ({name})" if name not in ("", node_id) else node_id
    return f"{label}, {file}:{line}" if line is not None else label


def how_to_continue(run_ids: Sequence[str], database: Path) -> str:
    """Return the message after runs were stopped."""
    words = command("continue", *run_ids, database=database)
    return f"stopped; nothing is lost. Continue with: {words}"
