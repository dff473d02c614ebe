"""`onward resume`: continue what a stopped or killed process left unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.options import examples

if TYPE_CHECKING:
    from pathlib import Path

    from onward.kernel.messages import NodeStatusMessage
    from onward.languages.graph.model import Document
    from onward.runtime.embedded.engine import EmbeddedEngine
from collections.abc import Iterable, Iterator
from typing import cast

import msgspec

from onward.kernel.messages import NodeStatusMessage, Status
from onward.kernel.outcome import NodeError
from onward.kernel.records import VisitRecord
from onward.kernel.timestamps import to_iso
from onward.languages.graph.model import Document


@click.command(
    epilog=examples(
        "onward resume", "onward resume run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J --json | jq .output"
    )
)
@click.argument("execution_ids", nargs=-1, metavar="[EXECUTION_ID]...")
@options.serving
def resume(execution_ids: tuple[str, ...], **served: Any) -> int:
    """Continue the runs named, or every unfinished one, and wait for their end.

    Other runs that those wait for go on as well.

    A run that has ended already is only shown again. With --json one run gives one object, as
    `onward run` does; no run or several give an array of them.
    """
    from onward.bootstrap.embedded import open_history
    from onward.cli.engines.embedded import Invocation
    from onward.cli.output.run_result import print_json, say

    invocation = Invocation.of(**served)
    runs = _found(invocation.settings.database, tuple(dict.fromkeys(execution_ids)))
    if not runs:
        if invocation.as_json:
            print_json([])
        say(f"nothing to resume in {invocation.settings.database}: every run has ended")
        return 0

    with open_history(invocation.settings.database) as history:
        # Nobody else goes on with what they wait for.
        below = [one for run in runs for one in history.waited_for(run)]

    async def begin(engine: EmbeddedEngine) -> list[str]:
        unfinished = {one.execution_id for one in engine.unfinished()}
        for run in dict.fromkeys((*runs, *below)):
            if run in unfinished:
                engine.resume(run)
        return list(runs)

    def past() -> list[NodeStatusMessage]:
        with open_history(invocation.settings.database) as history:
            return [
                status for run in runs for status in statuses(history.node_runs(run), runs[run])
            ]

    results = invocation.serve(begin, list(runs.values()), past)
    if len(results) == 1:
        return invocation.answer_one(results[0], runs[results[0].execution_id])
    return invocation.answer_all(results)


def _found(database: Path, named: tuple[str, ...]) -> dict[str, Document]:
    """Return the runs to wait for, each with its document."""
    from onward.bootstrap.embedded import open_history
    from onward.bootstrap.languages import compile_source
    from onward.errors import InputError, StorageError

    if not named and not database.exists():
        return {}
    found = {}
    with open_history(database) as history:
        executions = {execution.execution_id: execution for execution in history.executions()}
        for name in named:
            if name not in executions:
                raise InputError(f"{database} has no run {name}: `onward runs` lists them")
        unfinished = [
            execution for execution in executions.values() if execution.status == "running"
        ]
        for one in [executions[name] for name in named] or reversed(unfinished):
            definition = history.definition(one.definition_ref)
            if definition is None:
                raise StorageError(f"the definition of {one.execution_id} is not in {database}")
            found[one.execution_id] = compile_source(definition.source).document
    return found


# -- What a run did before this process took it up, told again as status messages.


def statuses(history: Iterable[VisitRecord], document: Document) -> Iterator[NodeStatusMessage]:
    """Yield a message for each line of history, as far as drawing needs it."""
    policies = {node.id: node.retry for node in document.nodes}
    for one in history:
        error = msgspec.json.decode(one.error, type=NodeError) if one.error else None
        policy = policies.get(one.node_id)
        metadata: dict[str, Any] | None = None
        if error is not None and policy is not None:
            delay_ms = policy.delay_ms(one.attempt, error.code, 0)
            if delay_ms is not None:
                metadata = {"retry_at": one.at_ms + delay_ms}
        message = NodeStatusMessage(
            workflow_id=document.id,
            execution_id=one.execution_id,
            node_id=one.node_id,
            status=cast(Status, one.status),
            error=error,
            executed_at=to_iso(one.at_ms),
            duration_ms=one.duration_ms,
            lineage_stack=one.lineage,
            token_id=one.token_id,
            attempt=one.attempt,
            metadata=metadata,
        )
        if one.attempt > 1:
            # History has no beginnings, but only a beginning tells that a pause is over.
            yield msgspec.structs.replace(message, status="running", error=None, metadata=None)
        yield message
