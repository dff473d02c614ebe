"""Routes of what workflows are made of: node types, expressions, and data to try them on."""

from __future__ import annotations

import asyncio
import inspect
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from onward.api.http.json_route import StrictRoute, json_response
from onward.api.http.lookups import known_run
from onward.api.http.problems import RequestRefusedError
from onward.api.http.value_pages import part_of
from onward.api.operations.views import EvaluatedView, EvaluateGiven, NodeTypeView
from onward.api.runs.routes import FARTHEST, Run, exactly_one
from onward.api.views import DataView, Page
from onward.errors import NotThereError
from onward.expressions import compile_template
from onward.kernel.json import decode
from onward.kernel.messages import decode_completion
from onward.ports.nodes.node import NodeType
from onward.ports.storage.run_queries import VisitQuery
from onward.runtime.backend import Backend

ROOM = 32 * 1024 * 1024
"""Bytes of a run's data that are read to evaluate an expression on it."""
EVALUATING = 2
"""Expressions that are evaluated at once: each may use a core for some seconds."""
Outputs = dict[str, Any]


def catalogue_routes(backend: Backend) -> APIRouter:
    """Return the routes of node types, expressions and data."""
    routes = APIRouter(route_class=StrictRoute)
    _add_types(routes, backend)
    _add_expressions(routes, backend)
    _add_data(routes, backend)
    return routes


def _add_types(routes: APIRouter, backend: Backend) -> None:
    @routes.get(
        "/node-types",
        tags=["catalogue"],
        summary="List node types",
        response_model=Page[NodeTypeView],
    )
    async def list_node_types() -> Response:
        """Every node type, with the JSON Schema of its parameters."""
        views = [_type_view(one) for one in backend.catalogue]
        return json_response(Page[NodeTypeView](items=views, next_cursor=None))

    @routes.get(
        "/node-types/{name}",
        tags=["catalogue"],
        summary="Get a node type",
        response_model=NodeTypeView,
    )
    async def get_node_type(
        name: Annotated[str, Path(max_length=1024, description="The type's name.")],
    ) -> Response:
        """One node type."""
        kind = backend.catalogue.get(name)
        if kind is None:
            known = ", ".join(one.name for one in backend.catalogue)
            raise NotThereError(f"there is no node type {name[:80]!r}: there are {known}")
        return json_response(_type_view(kind))


def _add_expressions(routes: APIRouter, backend: Backend) -> None:
    turns = asyncio.Semaphore(EVALUATING)

    @routes.post(
        "/expressions:evaluate",
        tags=["catalogue"],
        summary="Evaluate an expression",
        response_model=EvaluatedView,
    )
    async def evaluate_expression(given: EvaluateGiven) -> Response:
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
        return json_response(EvaluatedView.model_construct(value=value, names=names))


def _add_data(routes: APIRouter, backend: Backend) -> None:
    @routes.get(
        "/runs/{execution_id}/data",
        tags=["runs"],
        summary="Read a value of a run",
        response_model=DataView,
    )
    async def get_data(
        execution_id: Run,
        ref: Annotated[
            str | None, Query(max_length=128, description="A stored value, by its hash.")
        ] = None,
        token_id: Annotated[
            str | None, Query(max_length=256, description="The output of this visit.")
        ] = None,
        node_id: Annotated[
            str, Query(max_length=1024, description="The visit's node, with token_id.")
        ] = "",
        entry: Annotated[
            str | None, Query(max_length=1024, description="A value of the final context.")
        ] = None,
        pointer: Annotated[
            str, Query(max_length=8192, description="A JSON pointer to the part.")
        ] = "",
        offset: Annotated[int, Query(ge=0, le=FARTHEST, description="Members to skip.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="Members at most.")] = 100,
    ) -> Response:
        """A value or a part of it, a page at a time. A member too large for a page is null."""
        which = exactly_one(ref=ref, token_id=token_id, entry=entry)
        await known_run(backend, execution_id)
        reading = _Values(backend, execution_id)
        if which == "ref":
            raw = await reading.stored(ref or "")
        elif which == "entry":
            raw = await reading.entry(entry or "")
        else:
            raw = await reading.output(token_id or "", node_id)
        view = await asyncio.to_thread(lambda: part_of(decode(raw), pointer, offset, limit))
        return json_response(view)


class _Values:
    """Finds values of one run."""

    def __init__(self, backend: Backend, execution_id: str) -> None:
        self._archive = backend.archive
        self._run = execution_id

    async def stored(self, content: str) -> bytes:
        """Return a stored value."""
        body = await self._archive.payload(self._run, content)
        if body is None:
            raise NotThereError(f"run {self._run} has no stored value {content[:80]!r}")
        return body

    async def entry(self, name: str) -> bytes:
        """Return a value of the final context."""
        run = await self._archive.run(self._run)
        message = decode_completion(run.completion) if run and run.completion else None
        name = name if name.startswith("$") else f"${name}"
        if message is None:
            raise NotThereError(f"run {self._run} has not ended: it has no final context yet")
        if name in message.final_context:
            return bytes(message.final_context[name])
        if name in message.context_refs:
            return await self.stored(message.context_refs[name].hash)
        raise NotThereError(f"the final context of {self._run} has no {name[:80]}")

    async def output(self, token_id: str, node_id: str) -> bytes:
        """Return what a visit put out."""
        visit = await self._archive.output(self._run, token_id, node_id)
        if visit is None:
            raise NotThereError(f"run {self._run} has no such visit: give token_id and node_id")
        if visit.output_ref is not None:
            return await self.stored(visit.output_ref.hash)
        return bytes(visit.output) if visit.output is not None else b"null"


async def _context(backend: Backend, execution_id: str) -> Outputs:
    """Return the data of a run by name: its final context, or what its nodes put out so far."""
    run = await known_run(backend, execution_id)
    reading, room = _Values(backend, execution_id), ROOM
    found: Outputs = {}
    if run.completion is not None:
        message = decode_completion(run.completion)
        for name in (*message.final_context, *message.context_refs):
            raw = await reading.entry(name)
            room = _less(room, raw)
            found[name.removeprefix("$")] = decode(raw)
        if found:
            return found
    for visit in await backend.archive.visits(
        VisitQuery(execution_id=execution_id, limit=1000, status="success")
    ):
        if not visit.run.lineage:
            raw = await reading.output(visit.run.token_id, visit.run.node_id)
            room = _less(room, raw)
            found[visit.run.node_id] = decode(raw)
    return found


def _less(room: int, raw: bytes) -> int:
    if len(raw) > room:
        mib = ROOM // 1024 // 1024
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
