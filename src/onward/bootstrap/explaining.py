"""Gathering what is known about a run, from the cluster or from one file, and explaining it."""

from __future__ import annotations

from pathlib import Path

from onward.adapters.embedded.inspection import SqliteInspector
from onward.bootstrap.embedded import compile_source, now_ms
from onward.errors import DefinitionError
from onward.kernel.moment import to_iso
from onward.languages.graph.paths import quota
from onward.languages.graph.program import GraphProgram
from onward.languages.serverless.matching import types_of
from onward.languages.serverless.model import Fork, Listen
from onward.languages.serverless.program import ServerlessProgram
from onward.nodes.catalogue import builtin
from onward.ports.inspection import Inspector, Snapshot
from onward.ports.journal import Definition, Execution
from onward.ports.node import Catalogue
from onward.ports.store import Store
from onward.runtime.explaining import Aside, Explanation, Facts, explain
from onward.runtime.explaining_trees import Fork as ForkLayout
from onward.runtime.explaining_trees import Tree
from onward.runtime.releasing import QuarantineDesk
from onward.runtime.whereabouts import Layout, Merge


async def explain_on_cluster(
    execution_id: str,
    store: Store,
    inspector: Inspector,
    desk: QuarantineDesk,
    catalogue: Catalogue,
) -> Explanation | None:
    """Return what a run on a cluster waits for; None for a run that nobody knows."""
    # The coordinator first: what the history then lacks has not been written yet.
    snapshot = await inspector.look(execution_id)
    held = [one for one in await desk.everything() if one.execution_id == execution_id]
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
            quarantined=[Aside(one.at, one.reason) for one in held],
            now_ms=now_ms(),
        )
    )


async def explain_in_file(
    execution_id: str, database: Path, catalogue: Catalogue = builtin
) -> Explanation | None:
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
                quarantined=[Aside(to_iso(one.at_ms), one.reason) for one in held],
                now_ms=now_ms(),
            )
        )
    finally:
        journal.close()


def _unannounced(execution_id: str, snapshot: Snapshot) -> Execution | None:
    """Return a run that only its coordinator knows: its producer announced it to nobody."""
    if not (snapshot.over or snapshot.scopes or snapshot.barriers or snapshot.alarms):
        return None
    tokens = [one.token for one in snapshot.alarms] + [one.origin for one in snapshot.barriers]
    return Execution(
        execution_id=execution_id,
        workflow_id=tokens[0].workflow_id if tokens else "",
        definition_ref="",
        status="running",
        started_ms=tokens[0].started_at if tokens else now_ms(),
    )


def _definition_ref(snapshot: Snapshot) -> str:
    tokens = [one.token for one in snapshot.alarms] + [one.origin for one in snapshot.barriers]
    return next((one.definition_ref for one in tokens if one.definition_ref), "")


def _layout(definition: Definition | None, catalogue: Catalogue) -> Layout:
    """Return the layout of a workflow; an empty one when it is not known or no longer compiles."""
    if definition is None:
        return Layout()
    try:
        program = compile_source(definition.source, catalogue)
    except DefinitionError:
        return Layout()
    return layout_of(program) if isinstance(program, GraphProgram) else _tree_of(program)


def _tree_of(program: ServerlessProgram) -> Layout:
    """Return the layout of a tree: its tokens say themselves which task they are at."""
    forks, heard = {}, {}
    for at, task in program.workflow.tasks.items():
        if isinstance(task, Fork):
            forks[at] = ForkLayout(tuple(one.name for one in task.branches), task.compete)
        elif isinstance(task, Listen):
            heard[at] = tuple(sorted(types_of(task.wanted)))
    return Layout(tree=Tree(forks, heard))


def layout_of(program: GraphProgram) -> Layout:
    """Return what must be known about a graph to tell where its tokens are."""
    wiring = program.wiring
    merges = {name: wiring.nodes[name] for name in wiring.merges}
    return Layout(
        ways=wiring.ways,
        entries=wiring.entries,
        merges={
            name: Merge(node.into, min(quota(node) or len(node.into), len(node.into)))
            for name, node in merges.items()
        },
        aggregators=wiring.aggregators,
    )
