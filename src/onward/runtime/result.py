"""What a run came to, whole: the object that programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onward.kernel.messages import CompletionMessage, Ending

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
