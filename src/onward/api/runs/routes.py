"""Routes of runs: start, list, inspect, and every part of what happened, in pages."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import (
    FARTHEST,
    Cursor,
    Limit,
    RunId,
    next_cursor,
    read_cursor,
    read_item,
    read_moment,
    read_number_cursor,
    read_statuses,
)
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.runs.run_views import (
    entries_of,
    item_view,
    node_views,
    run_detail,
    run_view,
    run_views,
    visit_view,
)
from onward.api.runs.start import RunStarter
from onward.api.runs.views import (
    EventsView,
    ExplanationView,
    ItemView,
    NodeView,
    RunDetailView,
    RunGiven,
    RunView,
    VisitView,
)
from onward.api.views import DocumentView, Identifier, Page, document_view
from onward.errors import NotThereError
from onward.ports.storage.run_queries import RunQuery, VisitQuery
from onward.runtime.backend import Backend
from onward.runtime.security.audit import note


def run_routes(backend: Backend) -> Routes:
    """Return the routes of runs."""
    routes = Routes(prefix="/runs", tags=["runs"])
    _add_starting(routes, backend)
    _add_parts(routes, backend)  # before /{execution_id}, which would take :explain for an id
    _add_listing(routes, backend)
    _add_pages(routes, backend)
    _add_events(routes, backend)
    return routes


def _add_starting(routes: Routes, backend: Backend) -> None:
    starter = RunStarter(backend)

    @routes.post(
        "",
        status=201,
        summary="Start a run",
        view=RunView,
        responses={200: {"model": RunView, "description": "The key was used: the run it started."}},
    )
    async def start_run(
        given: RunGiven,
        idempotency_key: Annotated[
            Annotated[str, Meta(max_length=255)] | None,
            Meta(description="A repeated request with the same key starts nothing."),
        ] = None,
    ) -> Reply:
        """Start a run; when this is answered, it will end, whatever happens."""
        run, fresh = await starter.start(given, idempotency_key)
        if fresh:
            note(f"run {run.execution_id}", None, run.definition_ref)
        where = {"location": f"/api/v1/runs/{run.execution_id}"}
        return json_reply(await run_view(backend, run), 201 if fresh else 200, where)


def _add_listing(routes: Routes, backend: Backend) -> None:
    @routes.get("", summary="List runs")
    async def list_runs(
        workflow_id: Annotated[Identifier | None, Meta(description="Of this workflow.")] = None,
        status: Annotated[
            str | None, Meta(description="Any of these, with commas: running,failed.")
        ] = None,
        trigger_id: Annotated[
            Identifier | None, Meta(description="Started by this trigger.")
        ] = None,
        q: Annotated[str, Meta(max_length=128, description="A part of the run's id.")] = "",
        started_after: Annotated[str | None, Meta(description="RFC 3339.")] = None,
        started_before: Annotated[str | None, Meta(description="RFC 3339.")] = None,
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
        return Page[RunView](
            items=await run_views(backend, found[:limit]),
            next_cursor=next_cursor(found, limit, lambda run: (run.started_ms, run.execution_id)),
        )

    @routes.get("/{execution_id}", summary="Inspect a run", view=RunDetailView)
    async def get_run(execution_id: RunId) -> Reply:
        """A run, and how it ended. Large values are read with `data`."""
        run = await known_run(backend, execution_id)
        return json_reply(await run_detail(backend, run))


def _add_parts(routes: Routes, backend: Backend) -> None:
    archive = backend.archive

    @routes.get(
        "/{execution_id}/definition",
        summary="Get the definition a run uses",
        view=DocumentView,
    )
    async def get_run_definition(execution_id: RunId) -> Reply:
        """The definition as it was when the run started."""
        run = await known_run(backend, execution_id)
        definition = await archive.definition(run.definition_ref)
        if definition is None:
            raise NotThereError(f"the definition of {execution_id} is not known here")
        return json_reply(document_view(definition))

    @routes.get("/{execution_id}/nodes", summary="List the nodes of a run")
    async def list_nodes(execution_id: RunId) -> Page[NodeView]:
        """Every node of the workflow, with what its visits came to."""
        run = await known_run(backend, execution_id)
        totals = await archive.totals(execution_id)
        definition = await archive.definition(run.definition_ref)
        return Page[NodeView](items=node_views(definition, totals), next_cursor=None)

    @routes.get(
        "/{execution_id}:explain",
        summary="Say what a run waits for",
        view=ExplanationView,
    )
    async def explain_run(execution_id: RunId) -> Reply:
        """What a run waits for, in sentences that name it; or how it ended."""
        found = await backend.explain(execution_id)
        if found is None:
            raise NotThereError(f"there is no run called {execution_id}")
        return json_reply(found)

    @routes.get("/{execution_id}/context", summary="List the final context of a run")
    async def list_context(execution_id: RunId) -> Page[Any]:
        """The values that a run left, by name and size; read one with `data?entry=NAME`."""
        run = await known_run(backend, execution_id)
        return Page[Any](items=entries_of(run), next_cursor=None)


def _add_pages(routes: Routes, backend: Backend) -> None:
    archive = backend.archive

    @routes.get("/{execution_id}/visits", summary="List visits of nodes", view=Page[VisitView])
    async def list_visits(
        execution_id: RunId,
        node_id: Annotated[str, Meta(max_length=1024, description="Of this node.")] = "",
        status: Annotated[
            str, Meta(pattern=r"^(success|failed|waiting)?\Z", description="With this status.")
        ] = "",
        item: Annotated[
            Annotated[str, Meta(max_length=4096)] | None,
            Meta(description="Inside this item: `users[5]`."),
        ] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Reply:
        """What visits came to, in the order it was recorded, without their outputs."""
        await known_run(backend, execution_id)
        found = await archive.visits(
            VisitQuery(
                execution_id=execution_id,
                limit=limit + 1,
                after=read_number_cursor(cursor),
                node_id=node_id,
                status=status,
                within=read_item(item),
            )
        )
        more = next_cursor(found, limit, lambda placed: (placed.place,))
        items = [visit_view(placed.run) for placed in found[:limit]]
        return json_reply(Page[VisitView](items=items, next_cursor=more))

    @routes.get("/{execution_id}/items", summary="List the items of a split")
    async def list_items(
        execution_id: RunId,
        split: Annotated[str, Meta(min_length=1, max_length=1024, description="The split node.")],
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[ItemView]:
        """Items that a visit was recorded for, in the order they were first heard of."""
        await known_run(backend, execution_id)
        found = await archive.items(
            execution_id, split, after=read_number_cursor(cursor), limit=limit + 1
        )
        more = next_cursor(found, limit, lambda placed: (placed.place,))
        own = [item for item in found[:limit] if item.lineage[-1].split_node_id == split]
        return Page[ItemView](items=[item_view(item) for item in own], next_cursor=more)


def _add_events(routes: Routes, backend: Backend) -> None:
    @routes.get("/{execution_id}/events", summary="List events of a run", view=EventsView)
    async def list_events(
        execution_id: RunId,
        after: Annotated[int, Meta(ge=0, le=FARTHEST, description="Events above this.")] = 0,
        limit: Annotated[int, Meta(ge=1, le=1000, description="The most to return.")] = 200,
    ) -> Reply:
        """What happened in a run, numbered from 1 without gaps."""
        await known_run(backend, execution_id)
        found = await backend.archive.events(execution_id, after=after, limit=limit + 1)
        items = found[:limit]
        last = items[-1].seq if items else after
        return json_reply({"items": items, "last_seq": last, "more": len(found) > limit})
