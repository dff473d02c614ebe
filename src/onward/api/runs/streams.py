"""Routes that tell of a run while it goes on: server-sent events, and the same over WebSocket."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Response, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from onward.api.http.json_route import StrictRoute, json_response
from onward.api.http.lookups import known_run
from onward.api.http.problems import RequestRefusedError
from onward.api.runs.routes import FARTHEST, Run
from onward.api.views import EventView, Identifier, Place
from onward.errors import OnwardError
from onward.ports.storage.run_queries import EventQuery, PlacedEvent
from onward.runtime.backend import Backend
from onward.runtime.feed import EventPage

HEARTBEAT_S = 15.0
RETRY_MS = 2_000
"""How long a browser waits before it connects again."""

_encode = msgspec.json.Encoder().encode

EVENT_STREAM: dict[str, Any] = {
    "text/event-stream": {
        # Each event, as OpenAPI 3.2 says it; readers of 3.1 know it already.
        "itemSchema": {
            "type": "object",
            "required": ["id", "event", "data"],
            "properties": {
                "id": {"type": "string", "pattern": "^[0-9]+$"},
                "event": {"type": "string"},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
        },
    }
}
_LIVE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events as they happen; `id` is their number, `event` their type.",
        "content": EVENT_STREAM,
    },
    204: {"description": "The run has ended and you have seen it all: do not connect again."},
}


def live_routes(backend: Backend, heartbeat_s: float = HEARTBEAT_S) -> APIRouter:
    """Return the routes that stream."""
    routes = APIRouter(prefix="/runs", tags=["live"], route_class=StrictRoute)

    @routes.get(
        "/{execution_id}/events/stream",
        summary="Follow a run",
        response_class=StreamingResponse,
        responses={**_LIVE},
    )
    async def stream_events(
        execution_id: Run,
        after: Annotated[int, Query(ge=0, le=FARTHEST, description="Events above this.")] = 0,
        last_event_id: Annotated[
            str | None, Header(description="As a browser sends it; it wins over `after`.")
        ] = None,
    ) -> Response:
        """Every event of a run in order, from a number on, until it has ended.

        A comment comes when nothing has happened for 15 seconds.
        """
        await known_run(backend, execution_id)
        number = read_number(last_event_id, after)
        if await backend.feed.is_over(execution_id, number):
            return Response(status_code=204)
        pages = backend.feed.follow(execution_id, number, heartbeat_s=heartbeat_s)
        first = await anext(pages, None)  # so that a refusal is still an answer of its own
        return StreamingResponse(
            _live_sse(first, pages),
            media_type="text/event-stream",
            headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
        )

    @routes.websocket("/{execution_id}/events/socket")
    async def follow_events(
        socket: WebSocket,
        execution_id: Run,
        after: Annotated[int, Query(ge=0, le=FARTHEST)] = 0,
    ) -> None:
        """The same events, one JSON object in a message; an empty object is a sign of life."""
        try:
            await known_run(backend, execution_id)
        except OnwardError as problem:
            await socket.close(4404, str(problem)[:120])
            return
        await socket.accept()
        sending = asyncio.create_task(_send_all(socket, backend, execution_id, after, heartbeat_s))
        listening = asyncio.create_task(_until_gone(socket))
        try:
            await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (sending, listening):
                one.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)

    return routes


async def _live_sse(
    first: EventPage | None, pages: AsyncIterator[EventPage]
) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    if first is None:
        return
    yield _live_frame(first)
    async for page in pages:
        yield _live_frame(page)


def _live_frame(page: EventPage) -> bytes:
    if not page:
        return b": still here\n\n"
    if page.written is None:  # once, for all who follow
        page.written = b"".join(
            b"id: %d\nevent: %s\ndata: %s\n\n" % (one.seq, one.type.encode(), _encode(one))
            for one in page
        )
    return page.written


async def _send_all(
    socket: WebSocket, backend: Backend, execution_id: str, after: int, heartbeat_s: float
) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was being sent
        try:
            pages = backend.feed.follow(execution_id, after, heartbeat_s=heartbeat_s)
            async for page in pages:
                for one in page:
                    await socket.send_text(_encode(one).decode())
                if not page:
                    await socket.send_text("{}")
        except OnwardError as problem:
            await socket.close(1013, str(problem)[:120])
            return
        await socket.close(1000, "the run has ended")


async def _until_gone(socket: WebSocket) -> None:
    """Return when the other side has left; what it says is not listened to."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def read_number(last_event_id: str | None, after: int) -> int:
    """Return the number that a stream goes on after; refused when it is none."""
    if last_event_id is None:
        return after
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19):
        place = Place(message="it must be the number of an event", parameter="Last-Event-ID")
        raise RequestRefusedError(
            422,
            "INVALID_REQUEST",
            "Last-Event-ID: it must be the number of an event",
            errors=[place],
        )
    return int(last_event_id)


# -- Routes that tell of many runs: their events in one order, as a list and live.


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
            items=[facts(event) for event in page.events],
            last_place=page.upto,
            more=len(page.events) == limit,
        )
        return json_response(view)

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
        raise RequestRefusedError(422, "INVALID_REQUEST", f"runs: {why}", errors=[place])
    return EventQuery(workflow_id=workflow_id or "", runs=named)
