"""Routes that tell of many runs: their events in one order, as a list and live."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from onward.api.exchange import StrictRoute, told
from onward.api.live import EVENT_STREAM, HEARTBEAT_S, RETRY_MS, read_number
from onward.api.problems import Place, RefusedError
from onward.api.runs import FARTHEST
from onward.api.views import EventView, Identifier
from onward.ports.archive import EventQuery, PlacedEvent
from onward.runtime.backend import Backend

MOST_RUNS = 200
_RUN = re.compile(r"[a-zA-Z0-9_-]{1,128}")

Of = Annotated[Identifier | None, Query(description="Of this workflow.")]
Runs = Annotated[
    str,
    Query(
        max_length=20_000,
        pattern=r"^[a-zA-Z0-9_,-]*$",
        description="Of these runs, with commas; 200 at most.",
    ),
]

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events as they happen; `id` is their place, `event` their type.",
        "content": EVENT_STREAM,
    },
}


class PlacedEventView(EventView):
    """An event with its run, and its place among the events of all runs."""

    place: int
    execution_id: str
    workflow_id: str


class PlacedEventsView(BaseModel):
    """Events of many runs after a place."""

    items: list[PlacedEventView]
    last_place: int = Field(description="The place to ask after next time.")
    more: bool


def stream_routes(backend: Backend, heartbeat_s: float = HEARTBEAT_S) -> APIRouter:
    """Return the routes of events of many runs."""
    routes = APIRouter(prefix="/events", tags=["live"], route_class=StrictRoute)

    @routes.get("", summary="List events of many runs", response_model=PlacedEventsView)
    async def list_all_events(
        workflow_id: Of = None,
        runs: Runs = "",
        after: Annotated[int, Query(ge=0, le=FARTHEST, description="Events after this.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="The most to return.")] = 200,
    ) -> Response:
        """What happened in all runs, or some, in the order in which it was written."""
        query = _query(workflow_id, runs)
        page = await backend.archive.all_events(query, after=after, limit=limit)
        view = PlacedEventsView.model_construct(
            items=[facts(one) for one in page.events],
            last_place=page.upto,
            more=len(page.events) == limit,
        )
        return told(view)

    @routes.get(
        "/stream",
        summary="Follow many runs",
        response_class=StreamingResponse,
        responses={**_STREAM},
    )
    async def stream_all_events(
        workflow_id: Of = None,
        runs: Runs = "",
        after: Annotated[
            int | None, Query(ge=0, le=FARTHEST, description="Events after this. Default: now.")
        ] = None,
        last_event_id: Annotated[
            str | None, Header(description="As a browser sends it; it wins over `after`.")
        ] = None,
    ) -> Response:
        """Every event of all runs, or some, in the order in which it was written, without an end.

        A comment comes when nothing has happened for 15 seconds.
        """
        query = _query(workflow_id, runs)
        if after is None and last_event_id is None:
            after = await backend.archive.last_place()
        place = read_number(last_event_id, after or 0)
        backend.feed.check_room()  # so that a refusal is still an answer of its own
        pages = backend.feed.follow_all(query, place, heartbeat_s=heartbeat_s)
        return StreamingResponse(
            _sse(pages),
            media_type="text/event-stream",
            headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
        )

    return routes


def facts(one: PlacedEvent) -> dict[str, Any]:
    """Return an event of many runs as it is told."""
    event: dict[str, Any] = msgspec.to_builtins(one.event)
    where = {"execution_id": one.execution_id, "workflow_id": one.workflow_id}
    return {**event, "place": one.place, **where}


async def _sse(pages: AsyncIterator[list[PlacedEvent]]) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    async for page in pages:
        yield b"".join(map(_written, page)) or b": still here\n\n"


def _written(one: PlacedEvent) -> bytes:
    data = msgspec.json.encode(facts(one))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (one.place, one.event.type.encode(), data)


def _query(workflow_id: str | None, runs: str) -> EventQuery:
    named = tuple(dict.fromkeys(runs.split(","))) if runs else ()
    wrong = [one for one in named if not _RUN.fullmatch(one)]
    if wrong or len(named) > MOST_RUNS:
        why = f"{wrong[0][:80]!r} is no id of a run" if wrong else f"give {MOST_RUNS} runs at most"
        place = Place(message=why, parameter="runs")
        raise RefusedError(422, "INVALID_REQUEST", f"runs: {why}", errors=[place])
    return EventQuery(workflow_id=workflow_id or "", runs=named)
