"""Gathering what is known about a run, from the cluster or from one file, and explaining it."""

from __future__ import annotations

from pathlib import Path

from onward.adapters.sqlite.inspection import SqliteInspector
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.host import now_ms
from onward.bootstrap.languages import compile_source
from onward.errors import DefinitionError
from onward.kernel.messages import state_id_of
from onward.kernel.records import Definition, RunRecord
from onward.kernel.timestamps import to_iso
from onward.languages.graph.program import GraphProgram
from onward.languages.graph.routing import quota
from onward.languages.serverless.model import ForkTask, ListenTask
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.run.event_filters import types_of
from onward.ports.cluster.inspection import Inspector, Snapshot
from onward.ports.nodes.node import Catalogue
from onward.ports.storage.history_store import HistoryStore
from onward.runtime.cluster.quarantine import QuarantineReview
from onward.runtime.explain.explain import Facts, QuarantineCause, RunExplanation, explain
from onward.runtime.explain.serverless import DocumentShape
from onward.runtime.explain.serverless import ForkShape as ForkLayout
from onward.runtime.explain.token_locator import GraphLayout, MergeShape


async def explain_on_cluster(
    execution_id: str,
    store: HistoryStore,
    inspector: Inspector,
    desk: QuarantineReview,
    catalogue: Catalogue,
) -> RunExplanation | None:
    """Return what a run on a cluster waits for; None for a run that nobody knows."""
    known = await store.execution(execution_id)
    # The coordinator before the history: what that then lacks has not been written yet.
    snapshot = await inspector.look(state_id_of(execution_id, known.generation if known else 0))
    held = [one for one in await desk.list_all() if one.execution_id == execution_id]
    run = await store.execution(execution_id) or _unannounced(execution_id, snapshot)
    if run is None:
        return None
    ref = run.definition_ref or _definition_ref(snapshot)
    definition = await store.definition(ref) if ref else None
    return explain(
        Facts(
            run=run,
            snapshot=snapshot,
            layout=_layout(definition, catalogue),
            node_runs=await store.node_runs(execution_id),
            quarantined=[QuarantineCause(one.at, one.reason) for one in held],
            now_ms=now_ms(),
        )
    )


async def explain_in_file(
    execution_id: str, database: Path, catalogue: Catalogue = builtin
) -> RunExplanation | None:
    """Return what a run in a database of the embedded engine waits for; None if it is not there."""
    journal = SqliteInspector(database)
    try:
        snapshot = await journal.look(execution_id)
        run = journal.execution(execution_id)
        if run is None:
            return None
        definition = journal.definition(run.definition_ref)
        held = [one for one in journal.quarantine() if one.execution_id == execution_id]
        return explain(
            Facts(
                run=run,
                snapshot=snapshot,
                layout=_layout(definition, catalogue),
                node_runs=list(journal.node_runs(execution_id)),
                quarantined=[QuarantineCause(to_iso(one.at_ms), one.reason) for one in held],
                now_ms=now_ms(),
            )
        )
    finally:
        journal.close()


def _unannounced(execution_id: str, snapshot: Snapshot) -> RunRecord | None:
    """Return a run that only its coordinator knows: its producer announced it to nobody."""
    if not (snapshot.over or snapshot.scopes or snapshot.barriers or snapshot.alarms):
        return None
    tokens = [alarm.token for alarm in snapshot.alarms] + [
        barrier.origin for barrier in snapshot.barriers
    ]
    return RunRecord(
        execution_id=execution_id,
        workflow_id=tokens[0].workflow_id if tokens else "",
        definition_ref="",
        status="running",
        started_ms=tokens[0].started_at if tokens else now_ms(),
    )


def _definition_ref(snapshot: Snapshot) -> str:
    tokens = [alarm.token for alarm in snapshot.alarms] + [
        barrier.origin for barrier in snapshot.barriers
    ]
    return next((token.definition_ref for token in tokens if token.definition_ref), "")


def _layout(definition: Definition | None, catalogue: Catalogue) -> GraphLayout:
    """Return the layout of a workflow; an empty one when it is not known or no longer compiles."""
    if definition is None:
        return GraphLayout()
    try:
        program = compile_source(definition.source, catalogue)
    except DefinitionError:
        return GraphLayout()
    return layout_of(program) if isinstance(program, GraphProgram) else _tree_of(program)


def _tree_of(program: ServerlessProgram) -> GraphLayout:
    """Return the layout of a tree: its tokens say themselves which task they are at."""
    forks, heard = {}, {}
    for at, task in program.workflow.tasks.items():
        if isinstance(task, ForkTask):
            forks[at] = ForkLayout(tuple(branch.name for branch in task.branches), task.compete)
        elif isinstance(task, ListenTask):
            heard[at] = tuple(sorted(types_of(task.wanted)))
    return GraphLayout(tree=DocumentShape(forks, heard))


def layout_of(program: GraphProgram) -> GraphLayout:
    """Return what must be known about a graph to tell where its tokens are."""
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
