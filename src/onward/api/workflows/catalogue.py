"""Routes of what workflows consist of: node types, and expressions to try."""

from __future__ import annotations

import asyncio
import inspect
from typing import Annotated, Any

from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.refusals import RequestRefusedError
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.runs.data import RunValues
from onward.api.views import Page
from onward.api.workflows.views import EvaluatedView, EvaluateGiven, NodeTypeView
from onward.errors import NotThereError
from onward.expressions import compile_template
from onward.kernel.json import decode
from onward.kernel.messages import decode_completion
from onward.ports.nodes.node import NodeType
from onward.ports.storage.run_queries import VisitQuery
from onward.runtime.backend import Backend

EVALUATION_BYTES = 32 * 1024 * 1024
"""Bytes of a run's data that are read to evaluate an expression on it."""
MOST_EVALUATIONS = 2
"""Expressions that are evaluated at once: each may use a core for some seconds."""
Outputs = dict[str, Any]


def catalogue_routes(backend: Backend) -> Routes:
    """Return the routes of node types and expressions."""
    routes = Routes()
    _add_types(routes, backend)
    _add_expressions(routes, backend)
    return routes


def _add_types(routes: Routes, backend: Backend) -> None:
    @routes.get(
        "/node-types",
        tags=["catalogue"],
        summary="List node types",
        view=Page[NodeTypeView],
    )
    async def list_node_types() -> Reply:
        """Every node type, with the JSON Schema of its parameters."""
        views = [_type_view(kind) for kind in backend.catalogue]
        return json_reply(Page[NodeTypeView](items=views, next_cursor=None))

    @routes.get(
        "/node-types/{name}",
        tags=["catalogue"],
        summary="Get a node type",
        view=NodeTypeView,
    )
    async def get_node_type(
        name: Annotated[str, Meta(max_length=1024, description="The type's name.")],
    ) -> Reply:
        """One node type."""
        kind = backend.catalogue.get(name)
        if kind is None:
            known = ", ".join(kind.name for kind in backend.catalogue)
            raise NotThereError(f"there is no node type {name[:80]!r}: there are {known}")
        return json_reply(_type_view(kind))


def _add_expressions(routes: Routes, backend: Backend) -> None:
    turns = asyncio.Semaphore(MOST_EVALUATIONS)

    @routes.post(
        "/expressions:evaluate",
        tags=["catalogue"],
        summary="Evaluate an expression",
        view=EvaluatedView,
    )
    async def evaluate_expression(given: EvaluateGiven) -> Reply:
        """What an expression comes to, on given data or on that of a run, within its limits."""
        template = compile_template(given.template)
        variables = dict(given.variables)
        if given.execution_id is not None:
            found = await _context(backend, given.execution_id)
            variables = {**found, **variables}
        variables.setdefault("input", given.input)
        now_ms = backend.clock.now_ms()
        async with turns:
            value = await asyncio.to_thread(template.render, given.input, variables, now_ms=now_ms)
        names = sorted(template.names)
        return json_reply(EvaluatedView(value=value, names=names))


async def _context(backend: Backend, execution_id: str) -> Outputs:
    """Return the data of a run by name: its final context, or what its nodes put out so far."""
    run = await known_run(backend, execution_id)
    values, room = RunValues(backend, execution_id), EVALUATION_BYTES
    found: Outputs = {}
    if run.completion is not None:
        message = decode_completion(run.completion)
        for name in (*message.final_context, *message.context_refs):
            raw = await values.entry(name)
            room = _remaining(room, raw)
            found[name.removeprefix("$")] = decode(raw)
        if found:
            return found
    for visit in await backend.archive.visits(
        VisitQuery(execution_id=execution_id, limit=1000, status="success")
    ):
        if not visit.run.lineage:
            raw = await values.output(visit.run.token_id, visit.run.node_id)
            room = _remaining(room, raw)
            found[visit.run.node_id] = decode(raw)
    return found


def _remaining(room: int, raw: bytes) -> int:
    if len(raw) > room:
        mib = EVALUATION_BYTES // 1024 // 1024
        raise RequestRefusedError(
            422, "DATA_TOO_LARGE", f"the run has more than {mib} MiB of data: give `variables`"
        )
    return room - len(raw)


def _type_view(kind: NodeType) -> NodeTypeView:
    return NodeTypeView(
        type=kind.name,
        summary=kind.summary,
        description=inspect.getdoc(kind.parameters) or "",
        effect=kind.effect,
        credential=kind.credential,
        expressions=list(kind.expressions),
        parameters=kind.schema(),
    )
