"""From the records of a run to its views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from onward.api.runs.views import (
    EntryView,
    ErrorView,
    ItemView,
    NodeView,
    OriginView,
    RunDetailView,
    RunView,
    VisitView,
)
from onward.kernel.json import decode
from onward.kernel.lineage import describe
from onward.kernel.messages import CompletionMessage, decode_completion
from onward.kernel.outcome import NodeError
from onward.kernel.records import Definition, RunRecord, VisitRecord
from onward.kernel.timestamps import to_iso
from onward.ports.storage.run_decisions import RunDecision
from onward.ports.storage.run_queries import ItemTotals, NodeTotals
from onward.ports.storage.triggers import Origin
from onward.runtime.backend import Backend

INLINE_BYTES = 64 * 1024
"""An output of at most this many bytes is in the answer itself."""

_errors = msgspec.json.Decoder(NodeError)


async def run_view(backend: Backend, run: RunRecord) -> RunView:
    """Return a run without its ending."""
    return (await run_views(backend, [run]))[0]


async def run_views(backend: Backend, runs: Sequence[RunRecord]) -> list[RunView]:
    """Return runs without their endings, with what was decided about them and who started them."""
    names = [run.execution_id for run in runs]
    decided = await backend.steering.controls.controls(names)
    started = {origin.execution_id: origin for origin in await backend.triggers.origins(names)}
    return [
        RunView(**_facts(run, decided.get(run.execution_id), started.get(run.execution_id)))
        for run in runs
    ]


def _facts(run: RunRecord, control: RunDecision | None, origin: Origin | None) -> dict[str, Any]:
    decided = control or RunDecision(execution_id=run.execution_id)
    paused_ms = decided.paused_ms if run.ended_ms is None else None
    return {
        "paused_at": None if paused_ms is None else to_iso(paused_ms),
        "retry_of": decided.retry_of,
        "trigger": None
        if origin is None
        else OriginView(trigger_id=origin.trigger_id, kind=origin.kind),
        "priority": decided.priority,
        "deadline_at": None if decided.deadline_ms is None else to_iso(decided.deadline_ms),
        "execution_id": run.execution_id,
        "workflow_id": run.workflow_id,
        "definition_ref": run.definition_ref,
        "status": run.status,
        "started_at": to_iso(run.started_ms),
        "ended_at": None if run.ended_ms is None else to_iso(run.ended_ms),
        "duration_ms": None if run.ended_ms is None else run.ended_ms - run.started_ms,
    }


async def run_detail(backend: Backend, run: RunRecord) -> RunDetailView:
    """Return a run with its ending."""
    last_event = await backend.archive.last_event(run.execution_id)
    control = await backend.steering.controls.control(run.execution_id)
    origin = next(iter(await backend.triggers.origins([run.execution_id])), None)
    facts = _facts(run, control, origin)
    if run.completion is None:
        return RunDetailView(**facts, last_event=last_event, **_nothing())
    message = decode_completion(run.completion)
    output, carried = _output(message)
    return RunDetailView(
        **facts,
        last_event=last_event,
        output=output,
        output_carried=carried,
        output_nodes=list(message.output_nodes),
        error=_error(message.error, message.failed_node or None),
        context=entries_of(run),
    )


def _nothing() -> dict[str, Any]:
    return {
        "output": None,
        "output_carried": True,
        "output_nodes": [],
        "error": None,
        "context": [],
    }


def _output(message: CompletionMessage) -> tuple[Any, bool]:
    """Return a run's output, and whether all of it could be carried."""
    if message.status != "completed" or not message.output_nodes:
        return None, True
    names = [f"${node}" for node in message.output_nodes]
    inline = message.final_context
    if any(name in message.context_refs for name in names):
        return None, False
    if sum(len(inline[name]) for name in names if name in inline) > INLINE_BYTES:
        return None, False
    outputs = {
        node: decode(inline[name]) if name in inline else None
        for node, name in zip(message.output_nodes, names, strict=True)
    }
    return (next(iter(outputs.values())) if len(outputs) == 1 else outputs), True


def entries_of(run: RunRecord) -> list[EntryView]:
    """Return the values that a run left, by name."""
    if run.completion is None:
        return []
    message = decode_completion(run.completion)
    sizes = {name: len(raw) for name, raw in message.final_context.items()}
    sizes |= {name: ref.bytes for name, ref in message.context_refs.items()}
    return [EntryView(name=name, bytes=size) for name, size in sorted(sizes.items())]


def _error(error: NodeError | None, node: str | None) -> ErrorView | None:
    if error is None:
        return None
    return ErrorView(message=error.message, code=error.code, node_id=node, details=error.details)


def visit_view(visit: VisitRecord) -> VisitView:
    """Return a visit without its output."""
    size = visit.output_ref.bytes if visit.output_ref else None
    if visit.output is not None:
        size = len(visit.output)
    return VisitView(
        token_id=visit.token_id,
        node_id=visit.node_id,
        status=visit.status,
        attempt=visit.attempt,
        item=describe(visit.lineage),
        at=to_iso(visit.at_ms),
        duration_ms=visit.duration_ms,
        output_bytes=size,
        output_ref=visit.output_ref.hash if visit.output_ref else None,
        error=_error(_errors.decode(visit.error), None) if visit.error else None,
    )


def item_view(item: ItemTotals) -> ItemView:
    """Return an item of a split."""
    frame = item.lineage[-1]
    return ItemView(
        item=describe(item.lineage),
        index=frame.item_index,
        total=frame.total_items,
        visits=item.visits,
        failed_visits=item.failed,
        last_at=to_iso(item.last_ms),
    )


def node_views(definition: Definition | None, totals: Sequence[NodeTotals]) -> list[NodeView]:
    """Return the nodes of a definition in its order, then any others that were visited."""
    kinds = _kinds(definition)
    names = dict.fromkeys((*kinds, *(total.node_id for total in totals)))
    return [
        _node(name, kinds.get(name), [t for t in totals if t.node_id == name]) for name in names
    ]


def _kinds(definition: Definition | None) -> dict[str, str]:
    """Return the type of each node of a graph; other languages do not list theirs."""
    if definition is None:
        return {}
    nodes = decode(definition.source).get("nodes", [])
    return {node["id"]: node.get("type", "") for node in nodes} if isinstance(nodes, list) else {}


def _node(name: str, kind: str | None, totals: Sequence[NodeTotals]) -> NodeView:
    return NodeView(
        node_id=name,
        type=kind,
        visits={total.status: total.visits for total in totals},
        first_at=to_iso(min(total.first_ms for total in totals)) if totals else None,
        last_at=to_iso(max(total.last_ms for total in totals)) if totals else None,
        busy_ms=sum(total.busy_ms for total in totals),
    )
