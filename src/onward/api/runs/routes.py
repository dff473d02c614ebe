"""Routes of runs: start, list, inspect, and every part of what happened, in pages."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Query, Response

from onward.api.http.json_route import StrictRoute, json_response, read_cursor, write_cursor
from onward.api.http.lookups import known_run
from onward.api.http.parameters import Cursor, Limit, read_item, read_moment, read_statuses
from onward.api.http.problems import RequestRefusedError
from onward.api.runs.run_views import (
    entries_of,
    item_view,
    node_views,
    run_detail,
    run_view,
    runs_told,
    visit_view,
)
from onward.api.runs.start import RunStarter
from onward.api.views import (
    CancelGiven,
    DocumentView,
    EventsView,
    ExplanationView,
    Identifier,
    ItemView,
    NodeView,
    Page,
    RunDetailView,
    RunGiven,
    RunView,
    VisitView,
    document_view,
)
from onward.errors import NotThereError, StateConflictError
from onward.ports.storage.run_queries import RunQuery, VisitQuery
from onward.runtime.backend import Backend
from onward.runtime.security.audit import note

Run = Annotated[Identifier, Path(description="The run's id.")]
FARTHEST = 2**62


def run_routes(backend: Backend) -> APIRouter:
    """Return the routes of runs."""
    routes = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)
    _add_starting(routes, backend)
    _add_control(routes, backend)
    _add_parts(routes, backend)  # before /{execution_id}, which would take :explain for an id
    _add_listing(routes, backend)
    _add_pages(routes, backend)
    _add_events(routes, backend)
    return routes


def _add_starting(routes: APIRouter, backend: Backend) -> None:
    starting = RunStarter(backend)

    @routes.post(
        "",
        status_code=201,
        summary="Start a run",
        response_model=RunView,
        responses={200: {"model": RunView, "description": "The key was used: the run it started."}},
    )
    async def start_run(
        given: RunGiven,
        idempotency_key: Annotated[
            str | None,
            Header(
                max_length=255,
                description="A repeated request with the same key starts nothing.",
            ),
        ] = None,
    ) -> Response:
        """Start a run; when this is answered, it will end, whatever happens."""
        run, fresh = await starting.start(given, idempotency_key)
        if fresh:
            note(f"run {run.execution_id}", None, run.definition_ref)
        where = {"location": f"/api/v1/runs/{run.execution_id}"}
        return json_response(await run_view(backend, run), 201 if fresh else 200, where)


def _add_control(routes: APIRouter, backend: Backend) -> None:
    @routes.post("/{execution_id}:cancel", status_code=202, summary="Cancel a run")
    async def cancel_run(execution_id: Run, given: CancelGiven) -> RunView:
        """End a run now. Its tokens are dropped; whatever a running node comes to has no effect."""
        run = await known_run(backend, execution_id)
        if run.ended_ms is not None or not await backend.cancel(run, given.reason):
            run = await known_run(backend, execution_id)
            if run.ended_ms is not None:
                raise StateConflictError(
                    f"run {execution_id} has ended already: it is {run.status}", "RUN_ENDED"
                )
        return await run_view(backend, await known_run(backend, execution_id))


def _add_listing(routes: APIRouter, backend: Backend) -> None:
    @routes.get("", summary="List runs")
    async def list_runs(
        workflow_id: Annotated[Identifier | None, Query(description="Of this workflow.")] = None,
        status: Annotated[
            str | None, Query(description="Any of these, with commas: running,failed.")
        ] = None,
        trigger_id: Annotated[
            Identifier | None, Query(description="Started by this trigger.")
        ] = None,
        q: Annotated[str, Query(max_length=128, description="A part of the run's id.")] = "",
        started_after: Annotated[str | None, Query(description="RFC 3339.")] = None,
        started_before: Annotated[str | None, Query(description="RFC 3339.")] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[RunView]:
        """Runs, newest first."""
        before = read_cursor(cursor, tuple[int, str]) or (FARTHEST, "")
        found = await backend.archive.runs(
            RunQuery(
                limit=limit + 1,
                workflow_id=workflow_id or "",
                statuses=read_statuses(status),
                containing=q,
                trigger_id=trigger_id or "",
                from_ms=read_moment("started_after", started_after, 0),
                until_ms=read_moment("started_before", started_before, FARTHEST),
                before=(min(before[0], FARTHEST), before[1]),
            )
        )
        last = found[limit - 1] if len(found) > limit else None
        return Page[RunView](
            items=await runs_told(backend, found[:limit]),
            next_cursor=write_cursor(last.started_ms, last.execution_id) if last else None,
        )

    @routes.get("/{execution_id}", summary="Inspect a run", response_model=RunDetailView)
    async def get_run(execution_id: Run) -> Response:
        """A run, and how it ended. Large values are read with `data`."""
        run = await known_run(backend, execution_id)
        return json_response(await run_detail(backend, run))


def _add_parts(routes: APIRouter, backend: Backend) -> None:
    archive = backend.archive

    @routes.get(
        "/{execution_id}/definition",
        summary="Get the definition a run uses",
        response_model=DocumentView,
    )
    async def get_run_definition(execution_id: Run) -> Response:
        """The definition as it was when the run started."""
        run = await known_run(backend, execution_id)
        definition = await archive.definition(run.definition_ref)
        if definition is None:
            raise NotThereError(f"the definition of {execution_id} is not known here")
        return json_response(document_view(definition))

    @routes.get("/{execution_id}/nodes", summary="List the nodes of a run")
    async def list_nodes(execution_id: Run) -> Page[NodeView]:
        """Every node of the workflow, with what its visits came to."""
        run = await known_run(backend, execution_id)
        totals = await archive.totals(execution_id)
        definition = await archive.definition(run.definition_ref)
        return Page[NodeView](items=node_views(definition, totals), next_cursor=None)

    @routes.get(
        "/{execution_id}:explain",
        summary="Say what a run waits for",
        response_model=ExplanationView,
    )
    async def explain_run(execution_id: Run) -> Response:
        """What a run waits for, in sentences that name it; or how it ended."""
        found = await backend.explain(execution_id)
        if found is None:
            raise NotThereError(f"there is no run called {execution_id}")
        return json_response(ExplanationView.model_construct(**_plain(found)))

    @routes.get("/{execution_id}/context", summary="List the final context of a run")
    async def list_context(execution_id: Run) -> Page[Any]:
        """The values that a run left, by name and size; read one with `data?entry=NAME`."""
        run = await known_run(backend, execution_id)
        return Page[Any](items=entries_of(run), next_cursor=None)


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def _add_pages(routes: APIRouter, backend: Backend) -> None:
    archive = backend.archive

    @routes.get(
        "/{execution_id}/visits", summary="List visits of nodes", response_model=Page[VisitView]
    )
    async def list_visits(
        execution_id: Run,
        node_id: Annotated[str, Query(max_length=1024, description="Of this node.")] = "",
        status: Annotated[
            str, Query(pattern="^(success|failed|waiting)?$", description="With this status.")
        ] = "",
        item: Annotated[
            str | None, Query(max_length=4096, description="Inside this item: `users[5]`.")
        ] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """What visits came to, in the order it was recorded, without their outputs."""
        await known_run(backend, execution_id)
        (after,) = read_cursor(cursor, tuple[int]) or (0,)
        found = await archive.visits(
            VisitQuery(
                execution_id=execution_id,
                limit=limit + 1,
                after=min(after, FARTHEST),
                node_id=node_id,
                status=status,
                within=read_item(item),
            )
        )
        more = write_cursor(found[limit - 1].place) if len(found) > limit else None
        items = [visit_view(one.run) for one in found[:limit]]
        return json_response(Page[VisitView](items=items, next_cursor=more))

    @routes.get("/{execution_id}/items", summary="List the items of a split")
    async def list_items(
        execution_id: Run,
        split: Annotated[str, Query(min_length=1, max_length=1024, description="The split node.")],
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[ItemView]:
        """Items that a visit was recorded for, in the order they were first heard of."""
        await known_run(backend, execution_id)
        (after,) = read_cursor(cursor, tuple[int]) or (0,)
        found = await archive.items(
            execution_id, split, after=min(after, FARTHEST), limit=limit + 1
        )
        more = write_cursor(found[limit - 1].place) if len(found) > limit else None
        own = [one for one in found[:limit] if one.lineage[-1].split_node_id == split]
        return Page[ItemView](items=[item_view(one) for one in own], next_cursor=more)


def _add_events(routes: APIRouter, backend: Backend) -> None:
    @routes.get("/{execution_id}/events", summary="List events of a run", response_model=EventsView)
    async def list_events(
        execution_id: Run,
        after: Annotated[int, Query(ge=0, le=FARTHEST, description="Events above this.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="The most to return.")] = 200,
    ) -> Response:
        """What happened in a run, numbered from 1 without gaps."""
        await known_run(backend, execution_id)
        found = await backend.archive.events(execution_id, after=after, limit=limit + 1)
        items = found[:limit]
        view = EventsView.model_construct(
            items=items, last_seq=items[-1].seq if items else after, more=len(found) > limit
        )
        return json_response(view)


def exactly_one(**given: object) -> str:
    """Return the name of the one parameter that was given; refused when it is not one."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        wanted = ", ".join(given)
        raise RequestRefusedError(422, "INVALID_REQUEST", f"give exactly one of {wanted}")
    return named[0]
