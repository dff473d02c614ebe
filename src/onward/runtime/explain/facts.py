"""The facts of an explanation that follow from a definition or from a coordinator's snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onward.errors import DefinitionError
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition, RunRecord
from onward.kernel.timestamps import to_iso
from onward.languages.graph.program import GraphProgram
from onward.languages.graph.routing import quota
from onward.ports.cluster.inspection import Inspector, Snapshot
from onward.ports.storage.run_queries import History
from onward.runtime.explain.explain import Facts, QuarantineCause, RunExplanation, explain
from onward.runtime.explain.serverless import DocumentShape, ForkShape
from onward.runtime.explain.token_locator import GraphLayout, MergeShape

if TYPE_CHECKING:
    from onward.languages.serverless.program import ServerlessProgram

Compile = Callable[[Definition], Program]


async def explain_in_journal(
    execution_id: str, inspector: Inspector, history: History, compile_: Compile, now_ms: int
) -> RunExplanation | None:
    """Return what a run in a journal waits for; None if it is not there."""
    snapshot = await inspector.look(execution_id)
    run = history.execution(execution_id)
    if run is None:
        return None
    return explain(
        Facts(
            run=run,
            snapshot=snapshot,
            layout=layout_of(history.definition(run.definition_ref), compile_),
            node_runs=list(history.node_runs(execution_id)),
            quarantined=[
                QuarantineCause(to_iso(record.at_ms), record.reason)
                for record in history.quarantine()
                if record.execution_id == execution_id
            ],
            now_ms=now_ms,
        )
    )


def unannounced_run(execution_id: str, snapshot: Snapshot, now_ms: int) -> RunRecord | None:
    """Return a run that only its coordinator knows: its producer did not announce it."""
    if not (snapshot.over or snapshot.scopes or snapshot.barriers or snapshot.alarms):
        return None
    tokens = _tokens_in(snapshot)
    return RunRecord(
        execution_id=execution_id,
        workflow_id=tokens[0].workflow_id if tokens else "",
        definition_ref="",
        status="running",
        started_ms=tokens[0].started_at if tokens else now_ms,
    )


def definition_ref_in(snapshot: Snapshot) -> str:
    """Return the definition that the tokens of a snapshot refer to; "" if none does."""
    tokens = _tokens_in(snapshot)
    return next((token.definition_ref for token in tokens if token.definition_ref), "")


def _tokens_in(snapshot: Snapshot) -> list[Token]:
    return [timer.token for timer in snapshot.alarms] + [
        barrier.origin for barrier in snapshot.barriers
    ]


def layout_of(definition: Definition | None, compile_: Compile) -> GraphLayout:
    """Return the layout of a workflow; an empty one when it is not known or no longer compiles."""
    if definition is None:
        return GraphLayout()
    try:
        program = compile_(definition)
    except DefinitionError:
        return GraphLayout()
    if isinstance(program, GraphProgram):
        return _graph_layout(program)
    # Start-up time: a command that meets no document of the DSL does not import it.
    from onward.languages.serverless.program import ServerlessProgram  # noqa: PLC0415

    match program:
        case ServerlessProgram():
            return _tree_layout(program)
        case _:
            return GraphLayout()


def _tree_layout(program: ServerlessProgram) -> GraphLayout:
    """Return the layout of a tree: its tokens say themselves which task they are at."""
    from onward.languages.serverless.model import ForkTask, ListenTask  # noqa: PLC0415
    from onward.languages.serverless.run.event_filters import types_of  # noqa: PLC0415

    forks, heard = {}, {}
    for pointer, task in program.workflow.tasks.items():
        if isinstance(task, ForkTask):
            names = tuple(branch.name for branch in task.branches)
            forks[pointer] = ForkShape(names, task.compete)
        elif isinstance(task, ListenTask):
            heard[pointer] = tuple(sorted(types_of(task.wanted)))
    return GraphLayout(tree=DocumentShape(forks, heard))


def _graph_layout(program: GraphProgram) -> GraphLayout:
    """Return what must be known about a graph to find where its tokens are."""
    wiring = program.wiring
    merges = {name: wiring.nodes[name] for name in wiring.merges}
    return GraphLayout(
        ways=wiring.ways,
        entries=wiring.entries,
        merges={
            name: MergeShape(node.into, min(quota(node) or len(node.into), len(node.into)))
            for name, node in merges.items()
        },
        aggregators=wiring.aggregators,
    )
