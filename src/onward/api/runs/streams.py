"""Routes of events as they happen: of one run until it ends, and of many runs without an end.

`stream_events` numbers the events of its run; `stream_all_events` gives each event its place among
those of all runs. Both write server-sent events; `http.websocket` sends the first over WebSocket.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import FARTHEST, RunId, read_event_number
from onward.api.routing.refusals import invalid_parameter
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.routing.server_sent_events import (
    EVENT_STREAM,
    HEARTBEAT_S,
    stream_reply,
    write_event,
)
from onward.api.runs.views import PlacedEventsView
from onward.api.views import Identifier
from onward.ports.storage.run_queries import EventQuery, PlacedEvent
from onward.runtime.backend import Backend
from onward.runtime.feed import EventPage

MOST_RUNS = 200
_RUN_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")

OfWorkflow = Annotated[Identifier | None, Meta(description="Of this workflow.")]
OfRuns = Annotated[
    str,
    Meta(
        max_length=20_000,
        pattern=r"^[a-zA-Z0-9_,-]*\Z",
        description="Of these runs, with commas; 200 at most.",
    ),
]
LastEventId = Annotated[
    str | None, Meta(description="As a browser sends it; it wins over `after`.")
]

_encode = msgspec.json.Encoder().encode


def stream_routes(backend: Backend, heartbeat_s: float = HEARTBEAT_S) -> Routes:
    """Return the routes of events as they happen."""
    routes = Routes(tags=["live"])
    _add_stream_of_run(routes, backend, heartbeat_s)
    _add_events_of_runs(routes, backend, heartbeat_s)
    return routes


# -- the events of one run -----------------------------------------------------------------------


def _add_stream_of_run(routes: Routes, backend: Backend, heartbeat_s: float) -> None:
    @routes.get(
        "/runs/{execution_id}/events/stream",
        summary="Follow a run",
        carries="anything",
        responses={
            200: {
                "description": "Events as they happen; `id` is their number, `event` their type.",
                "content": EVENT_STREAM,
            },
            204: {
                "description": "The run has ended and you have seen it all: do not connect again."
            },
        },
    )
    async def stream_events(
        execution_id: RunId,
        after: Annotated[int, Meta(ge=0, le=FARTHEST, description="Events above this.")] = 0,
        last_event_id: LastEventId = None,
    ) -> Reply | None:
        """Every event of a run in order, from a number on, until it has ended.

        A comment comes when nothing has happened for 15 seconds.
        """
        await known_run(backend, execution_id)
        number = read_event_number(last_event_id, after)
        if await backend.feed.is_over(execution_id, number):
            return None
        pages = backend.feed.follow(execution_id, number, heartbeat_s=heartbeat_s)
        first = await anext(pages, None)  # so that a refusal is still an answer of its own
        return stream_reply(_pages_of_run(first, pages))


async def _pages_of_run(
    first: EventPage | None, pages: AsyncIterator[EventPage]
) -> AsyncIterator[bytes]:
    if first is None:
        return
    yield _write_page(first)
    async for page in pages:
        yield _write_page(page)


def _write_page(page: EventPage) -> bytes:
    if page.written is None:  # once, for all who follow
        page.written = b"".join(
            write_event(event.seq, event.type, _encode(event)) for event in page
        )
    return page.written


# -- the events of many runs ---------------------------------------------------------------------


def _add_events_of_runs(routes: Routes, backend: Backend, heartbeat_s: float) -> None:
    @routes.get("/events", summary="List events of many runs", view=PlacedEventsView)
    async def list_all_events(
        workflow_id: OfWorkflow = None,
        runs: OfRuns = "",
        after: Annotated[int, Meta(ge=0, le=FARTHEST, description="Events after this.")] = 0,
        limit: Annotated[int, Meta(ge=1, le=1000, description="The most to return.")] = 200,
    ) -> Reply:
        """What happened in all runs, or some, in the order in which it was written."""
        query = _query(workflow_id, runs)
        page = await backend.archive.all_events(query, after=after, limit=limit)
        return json_reply(
            {
                "items": [_facts(placed) for placed in page.events],
                "last_place": page.upto,
                "more": len(page.events) == limit,
            }
        )

    @routes.get(
        "/events/stream",
        summary="Follow many runs",
        carries="anything",
        responses={
            200: {
                "description": "Events as they happen; `id` is their place, `event` their type.",
                "content": EVENT_STREAM,
            }
        },
    )
    async def stream_all_events(
        workflow_id: OfWorkflow = None,
        runs: OfRuns = "",
        after: Annotated[
            Annotated[int, Meta(ge=0, le=FARTHEST)] | None,
            Meta(description="Events after this. Default: now."),
        ] = None,
        last_event_id: LastEventId = None,
    ) -> Reply:
        """Every event of all runs, or some, in the order in which it was written, without an end.

        A comment comes when nothing has happened for 15 seconds.
        """
        query = _query(workflow_id, runs)
        if after is None and last_event_id is None:
            after = await backend.archive.last_place()
        place = read_event_number(last_event_id, after or 0)
        backend.feed.check_room()  # so that a refusal is still an answer of its own
        pages = backend.feed.follow_all(query, place, heartbeat_s=heartbeat_s)
        return stream_reply(_pages_of_runs(pages))


async def _pages_of_runs(pages: AsyncIterator[list[PlacedEvent]]) -> AsyncIterator[bytes]:
    async for page in pages:
        yield b"".join(
            write_event(placed.place, placed.event.type, _encode(_facts(placed))) for placed in page
        )


def _facts(placed: PlacedEvent) -> dict[str, Any]:
    event: dict[str, Any] = msgspec.to_builtins(placed.event)
    return {
        **event,
        "place": placed.place,
        "execution_id": placed.execution_id,
        "workflow_id": placed.workflow_id,
    }


def _query(workflow_id: str | None, runs: str) -> EventQuery:
    named = tuple(dict.fromkeys(runs.split(","))) if runs else ()
    wrong = [run_id for run_id in named if not _RUN_ID.fullmatch(run_id)]
    if wrong:
        raise invalid_parameter("runs", f"{wrong[0][:80]!r} is no id of a run")
    if len(named) > MOST_RUNS:
        raise invalid_parameter("runs", f"give {MOST_RUNS} runs at most")
    return EventQuery(workflow_id=workflow_id or "", runs=named)
