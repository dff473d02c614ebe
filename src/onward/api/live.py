"""Routes that tell of a run while it goes on: server-sent events, and the same over WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query, Response, WebSocket, WebSocketDisconnect
from starlette.responses import StreamingResponse

from onward.api.exchange import StrictRoute
from onward.api.problems import Place, RefusedError
from onward.api.runs import FARTHEST, Run, known_run
from onward.errors import OnwardError
from onward.runtime.backend import Backend
from onward.runtime.press import Page

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
_STREAM: dict[int | str, dict[str, Any]] = {
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
        responses={**_STREAM},
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
            _sse(first, pages),
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


async def _sse(first: Page | None, pages: AsyncIterator[Page]) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    if first is None:
        return
    yield _written(first)
    async for page in pages:
        yield _written(page)


def _written(page: Page) -> bytes:
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
        raise RefusedError(
            422,
            "INVALID_REQUEST",
            "Last-Event-ID: it must be the number of an event",
            errors=[place],
        )
    return int(last_event_id)
