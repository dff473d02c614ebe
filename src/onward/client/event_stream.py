"""Following events over a connection that may break: every event once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import NamedTuple

from onward.client.errors import UnreachableError, refusal
from onward.client.transports.transport import Query, Transport

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
PATIENCE_S = 60.0
"""How long a server may be away before the follower gets an error."""


class StreamEvent(NamedTuple):
    """One event of a stream: its id, and its data."""

    id: str
    data: bytes


async def follow(
    transport: Transport, path: str, query: Query, after: str, *, patience_s: float = PATIENCE_S
) -> AsyncGenerator[StreamEvent, None]:
    """Yield the events of a stream after an id, connecting again as often as needed, until it ends.

    UnreachableError when the server was away for longer than the patience.
    """
    clock = asyncio.get_running_loop().time
    heard, pause_s = clock(), FIRST_PAUSE_S
    while True:
        received = False
        try:
            headers = {"accept": "text/event-stream", **({"last-event-id": after} if after else {})}
            async with transport.stream(path, query, headers) as answer:
                if answer.status == 204:
                    return
                if answer.status != 200:
                    raise refusal(answer.status, b"".join([chunk async for chunk in answer.chunks]))
                heard = clock()
                async with aclosing(read_stream(answer.chunks)) as stream:
                    async for event in stream:
                        heard, pause_s, received = clock(), FIRST_PAUSE_S, True
                        after = event.id
                        yield event
        except UnreachableError:
            if clock() - heard >= patience_s:
                raise
        if received:
            continue  # it ended with the run, most likely: ask at once
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def read_stream(chunks: AsyncIterator[bytes]) -> AsyncGenerator[StreamEvent, None]:
    """Yield the events in a `text/event-stream`; one that is cut off at the end is dropped."""
    pending = b""
    last, data = "", b""
    async for chunk in chunks:
        *lines, pending = (pending + chunk).split(b"\n")
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if not line:
                if data:
                    yield StreamEvent(last, data)
                data = b""
                continue
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data = data + b"\n" + value if data else value
            elif name == b"id":
                last = value.decode()
