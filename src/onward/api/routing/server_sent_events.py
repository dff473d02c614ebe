"""Writing server-sent events: the one place that knows their form.

A stream begins with the time after which a client connects again. Each event has an id, and a
client that was cut off sends the last one it saw as `Last-Event-ID`. When nothing has happened for
`HEARTBEAT_S` a comment is sent, so that neither side takes the other for dead.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from onward.api.routing.routes import Reply

HEARTBEAT_S = 15.0
RETRY_MS = 2_000
"""How long a browser waits before it connects again."""

BEGINNING = f"retry: {RETRY_MS}\n\n".encode()
HEARTBEAT = b": still here\n\n"

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
"""The content of such a stream, for the OpenAPI."""


def write_event(number: int, kind: str, data: bytes) -> bytes:
    """Return one event."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), data)


def stream_reply(pages: AsyncIterator[bytes]) -> Reply:
    """Return the answer that streams pages of events; an empty page is sent as a heartbeat."""
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return Reply(headers=headers, media_type="text/event-stream", chunks=_chunks(pages))


async def _chunks(pages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield BEGINNING
    async for page in pages:
        yield page or HEARTBEAT
