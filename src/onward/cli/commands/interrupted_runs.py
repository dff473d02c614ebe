"""`onward continue`: execute runs whose process was stopped or killed to their end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from onward.cli import exit_codes, options
from onward.cli.commands.runs.selection import SAMPLE_RUN, runs_argument
from onward.cli.options import examples

if TYPE_CHECKING:
    from pathlib import Path

    from onward.kernel.messages import NodeStatusMessage, Status
    from onward.kernel.records import VisitRecord
    from onward.languages.graph.model import Document
    from onward.runtime.embedded.engine import EmbeddedEngine


@click.command(
    name="continue",
    epilog=examples("onward continue", f"onward continue {SAMPLE_RUN} --json | jq .output"),
)
@runs_argument
@options.serving
def continue_runs(execution_ids: tuple[str, ...], **served: Any) -> int:
    """Continue interrupted runs, those named or all, and wait for their end.

    Runs that they wait for continue as well. A run that has ended already is only printed again.
    With --json one run gives one object, as `onward run` does; none or several give an array.
    """
    from onward.bootstrap.embedded import open_history
    from onward.cli.engines.embedded import Invocation
    from onward.cli.output.console import print_json, say

    invocation = Invocation.of(**served)
    database = invocation.settings.database
    documents = _documents_of_runs(database, tuple(dict.fromkeys(execution_ids)))
    if not documents:
        if invocation.as_json:
            print_json([])
        say(f"nothing to continue in {database}: every run has ended")
        return exit_codes.OK

    with open_history(database) as history:
        # No other process executes the runs that they wait for.
        children = [child for run_id in documents for child in history.waited_for(run_id)]

    async def begin(engine: EmbeddedEngine) -> list[str]:
        unfinished = {run.execution_id for run in engine.unfinished()}
        for run_id in dict.fromkeys((*documents, *children)):
            if run_id in unfinished:
                engine.resume(run_id)
        return list(documents)

    def past() -> list[NodeStatusMessage]:
        with open_history(database) as history:
            return [
                message
                for run_id, document in documents.items()
                for message in statuses(history.node_runs(run_id), document)
            ]

    results = invocation.serve(begin, list(documents.values()), past)
    if len(results) == 1:
        return invocation.answer_one(results[0], documents[results[0].execution_id])
    return invocation.answer_all(results)


def _documents_of_runs(database: Path, named: tuple[str, ...]) -> dict[str, Document]:
    """Return the runs to wait for, each with its document."""
    from onward.bootstrap.embedded import open_history
    from onward.bootstrap.languages import compile_source
    from onward.errors import InputError, StorageError

    if not named and not database.exists():
        return {}
    documents = {}
    with open_history(database) as history:
        runs = {run.execution_id: run for run in history.executions()}
        for run_id in named:
            if run_id not in runs:
                raise InputError(f"{database} has no run {run_id}: `onward runs` lists them")
        unfinished = [run for run in runs.values() if run.status == "running"]
        for run in [runs[run_id] for run_id in named] or reversed(unfinished):
            definition = history.definition(run.definition_ref)
            if definition is None:
                raise StorageError(f"the definition of {run.execution_id} is not in {database}")
            documents[run.execution_id] = compile_source(definition.source).document
    return documents


def statuses(visits: Iterable[VisitRecord], document: Document) -> Iterator[NodeStatusMessage]:
    """Yield the history of a run as status messages, as far as drawing needs them."""
    import msgspec

    from onward.kernel.messages import NodeStatusMessage
    from onward.kernel.outcome import NodeError
    from onward.kernel.timestamps import to_iso

    policies = {node.id: node.retry for node in document.nodes}
    for visit in visits:
        error = msgspec.json.decode(visit.error, type=NodeError) if visit.error else None
        policy = policies.get(visit.node_id)
        metadata: dict[str, Any] | None = None
        if error is not None and policy is not None:
            delay_ms = policy.delay_ms(visit.attempt, error.code, 0)
            if delay_ms is not None:
                metadata = {"retry_at": visit.at_ms + delay_ms}
        message = NodeStatusMessage(
            workflow_id=document.id,
            execution_id=visit.execution_id,
            node_id=visit.node_id,
            status=cast("Status", visit.status),
            error=error,
            executed_at=to_iso(visit.at_ms),
            duration_ms=visit.duration_ms,
            lineage_stack=visit.lineage,
            token_id=visit.token_id,
            attempt=visit.attempt,
            metadata=metadata,
        )
        if visit.attempt > 1:
            # History has no starts, but only a start says that the pause before it is over.
            yield msgspec.structs.replace(message, status="running", error=None, metadata=None)
        yield message
