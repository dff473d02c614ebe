"""The events of a run over WebSocket, which only a server has."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query, WebSocket, WebSocketDisconnect

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import FARTHEST
from onward.errors import OnwardError
from onward.runtime.backend import Backend

RunId = Annotated[str, Path(pattern=r"^[a-zA-Z0-9_-]{1,128}$", description="The run's id.")]


def socket_router(backend: Backend, heartbeat_s: float) -> APIRouter:
    """Return the route of events over WebSocket."""
    router = APIRouter(prefix="/runs", tags=["live"])

    @router.websocket("/{execution_id}/events/socket")
    async def follow_events(
        socket: WebSocket,
        execution_id: RunId,
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
        listening = asyncio.create_task(_until_disconnected(socket))
        try:
            await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            listening.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)

    return router


async def _send_all(
    socket: WebSocket, backend: Backend, execution_id: str, after: int, heartbeat_s: float
) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was being sent
        try:
            pages = backend.feed.follow(execution_id, after, heartbeat_s=heartbeat_s)
            async for page in pages:
                for event in page:
                    await socket.send_text(msgspec.json.encode(event).decode())
                if not page:
                    await socket.send_text("{}")
        except OnwardError as problem:
            await socket.close(1013, str(problem)[:120])
            return
        await socket.close(1000, "the run has ended")


async def _until_disconnected(socket: WebSocket) -> None:
    """Return when the other side has left; what it sends is ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
